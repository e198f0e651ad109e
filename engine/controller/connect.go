package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// account is the Linode side of the controller.
type account struct {
	api      *api.Client
	standing *api.Standing
	cluster  api.Cluster
	lease    *lease // without it, only calls that change nothing are sent
	prices   *catalog.Catalog
	fresh    bool // the prices come from the API
	kept     record
}

// connectToLinode returns a client for the Linode API and the cluster that it is for. If Linode does not
// answer or refuses the token, it returns the cluster that an earlier process has recorded:
// everything works without Linode, except for capacity, which waits.
func connectToLinode(ctx context.Context, cfg Config, kept record) (*account, error) {
	if cfg.Instances {
		return connectInstances(ctx, cfg, kept)
	}
	if cfg.LinodeToken == "" {
		return nil, errors.New("no Linode API token; set LINODE_TOKEN to one with the scope " + api.ScopePools)
	}
	if cfg.ClusterID == 0 && cfg.ClusterName == "" {
		return nil, errors.New("no LKE cluster; set LKE_CLUSTER_ID to its number, or CLUSTER_NAME to its label")
	}
	a, err := newAccount(cfg, api.ScopePools)
	if err != nil {
		return nil, err
	}
	recorded, known := kept.cluster(ctx, cfg)
	if a.cluster, err = askForCluster(ctx, a.api, cfg, known); err != nil {
		if _, wrong := errors.AsType[wrongSetting](err); wrong {
			return nil, err
		}
		if !known || !mayBeTemporary(err) {
			return nil, api.Explain(err, cfg.LinodeURL)
		}
		a.cluster = recorded
		cfg.Log.Warn("cannot read the cluster from Linode; using the recorded cluster, and creating no nodes until "+
			"Linode answers", "id", recorded.ID, "error", api.Explain(err, cfg.LinodeURL))
		a.prices, a.fresh = embeddedCatalog(), false
		return a, nil
	}
	if recorded.ID != 0 && recorded.ID != a.cluster.ID {
		return nil, otherCluster(a.cluster, recorded.ID, fmt.Sprintf("according to ConfigMap %s in namespace %s, which you "+
			"can delete if that has changed", recordName, kept.namespace))
	}
	if !a.api.MayUse(api.ScopePools) {
		return nil, fmt.Errorf("the Linode API token lacks the scope %s: it has %s; create one with that scope in Cloud "+
			"Manager (My Profile, API Tokens: Kubernetes, Read/Write) and set LINODE_TOKEN to it",
			api.ScopePools, strings.Join(a.api.Scopes(), " "))
	}
	if err := kept.checkSettings(ctx, cfg, a.cluster); err != nil {
		return nil, err
	}
	kept.keep(ctx, cfg, a.cluster, "")
	a.prices, a.fresh = readCatalog(ctx, cfg)
	return a, nil
}

// newAccount returns a client for the Linode API. It sends no request yet.
func newAccount(cfg Config, scope string) (*account, error) {
	a := &account{standing: api.NewStanding(scope), lease: new(lease)}
	var err error
	a.api, err = api.New(cfg.LinodeURL, cfg.LinodeToken, api.Options{
		Timeout: cfg.LinodeTimeout,
		Gate:    a.lease.Held,
		Observe: func(call api.Call) {
			observeLinode(cfg.Log, call)
			a.standing.Observe(call)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("set LINODE_URL: %w", err)
	}
	return a, nil
}

// connectInstances returns a client for the Linode API, and the cluster, which is not an LKE cluster.
// Linode does not know it, so only prices are read.
func connectInstances(ctx context.Context, cfg Config, kept record) (*account, error) {
	switch {
	case cfg.LinodeToken == "":
		return nil, errors.New("no Linode API token; set LINODE_TOKEN to one with the scope " + api.ScopeInstances)
	case cfg.ClusterID != 0:
		return nil, errors.New("LKE_CLUSTER_ID names an LKE cluster, but --mode instance is for other clusters; remove one " +
			"of the two")
	case cfg.Region == "":
		return nil, errors.New("no region; with --mode instance, set LINODE_REGION to the region of the cluster, " +
			"such as us-ord")
	}
	a, err := newAccount(cfg, api.ScopeInstances)
	if err != nil {
		return nil, err
	}
	a.kept = kept
	a.cluster = api.Cluster{Label: cfg.ClusterName, Region: cfg.Region, Tier: string(catalog.Instances)}
	if err := kept.checkSettings(ctx, cfg, a.cluster); err != nil {
		return nil, err
	}
	a.prices, a.fresh = readCatalog(ctx, cfg)
	if _, known := a.prices.Region(cfg.Region); !known {
		return nil, fmt.Errorf("region %q is not on Linode's list%s; correct LINODE_REGION", cfg.Region,
			a.prices.Age())
	}
	return a, nil
}

// askForCluster reads the cluster from Linode, with a shorter timeout if it is recorded.
func askForCluster(ctx context.Context, api *api.Client, cfg Config, known bool) (api.Cluster, error) {
	timeout := 30 * time.Second
	if known {
		timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cluster, err := findCluster(ctx, api, cfg)
	if err == nil && cfg.Region != "" && cfg.Region != cluster.Region {
		return cluster, wrongSetting{fmt.Sprintf("LKE cluster %s is in %s, not in %s; correct or remove LINODE_REGION",
			cluster.Label, cluster.Region, cfg.Region)}
	}
	return cluster, err
}

// wrongSetting is an error in the configuration of the controller: Linode has answered.
type wrongSetting struct{ text string }

func (w wrongSetting) Error() string { return w.text }

// otherCluster returns the error if the settings name another LKE cluster than the one with these nodes.
// Every node would seem to have lost its machine.
func otherCluster(named api.Cluster, is int, by string) error {
	return wrongSetting{fmt.Sprintf("this is LKE cluster %d, %s; the settings name %d (%s): correct LKE_CLUSTER_ID or "+
		"CLUSTER_NAME", is, by, named.ID, named.Label)}
}

var nodeOfLKE = regexp.MustCompile(`^lke(\d+)-`)

// requireOwnNodes checks that, if there are Nodes of LKE, some belong to the cluster: LKE names each
// Node after its cluster. After a restore into another cluster, Nodes of the old one may be left.
func requireOwnNodes(ctx context.Context, from client.Reader, cluster api.Cluster) error {
	var nodes metav1.PartialObjectMetadataList
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := from.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list the Nodes: %w", err)
	}
	var other error
	for _, node := range nodes.Items {
		m := nodeOfLKE.FindStringSubmatch(node.Name)
		if m == nil {
			continue
		}
		id, _ := strconv.Atoi(m[1])
		if id == cluster.ID {
			return nil
		}
		other = otherCluster(cluster, id, "according to its Node "+node.Name)
	}
	return other
}

// mayBeTemporary reports whether an error may be temporary, or may be fixed at Linode.
func mayBeTemporary(err error) bool {
	switch api.ClassOf(err) {
	case api.ClassUnknown, api.ClassBusy, api.ClassAuth:
		return true
	}
	return false
}

// findCluster finds the cluster by its ID, else by its label.
func findCluster(ctx context.Context, lke *api.Client, cfg Config) (api.Cluster, error) {
	if cfg.ClusterID != 0 {
		cluster, err := lke.Cluster(ctx, cfg.ClusterID)
		switch {
		case api.ClassOf(err) == api.ClassNotFound:
			return cluster, wrongSetting{fmt.Sprintf(
				"the account has no LKE cluster %d; correct LKE_CLUSTER_ID, or use a token of the account that has it",
				cfg.ClusterID)}
		case err != nil:
			return cluster, err
		case cfg.ClusterName != "" && cfg.ClusterName != cluster.Label:
			return cluster, wrongSetting{fmt.Sprintf(
				"LKE cluster %d is called %q, not %q; correct LKE_CLUSTER_ID or CLUSTER_NAME", cluster.ID, cluster.Label,
				cfg.ClusterName)}
		}
		return cluster, nil
	}
	clusters, err := lke.Clusters(ctx)
	if err != nil {
		return api.Cluster{}, err
	}
	var found []api.Cluster
	var labels []string
	for _, c := range clusters {
		labels = append(labels, c.Label)
		if c.Label == cfg.ClusterName {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return api.Cluster{}, wrongSetting{fmt.Sprintf(
			"the account has no LKE cluster called %q; it has: %s; correct CLUSTER_NAME", cfg.ClusterName, text.List(labels, 10))}
	}
	return api.Cluster{}, wrongSetting{fmt.Sprintf(
		"the account has %d LKE clusters called %q; set LKE_CLUSTER_ID to the number of the right one", len(found),
		cfg.ClusterName)}
}

// readCatalog reads the catalogue from the API's public endpoints. If that fails, it returns the
// built-in one: a node at an old price is better than none.
func readCatalog(ctx context.Context, cfg Config) (list *catalog.Catalog, fresh bool) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	list, err := publicAPI{api.Root(cfg.LinodeURL)}.Catalog(ctx)
	if err == nil {
		return list, true
	}
	list = embeddedCatalog()
	cfg.Log.Warn("cannot read the catalogue of plans; using the built-in one", "date", list.Date(), "error", err)
	return list, false
}

// embeddedCatalog returns the price catalogue that is built into the controller.
func embeddedCatalog() *catalog.Catalog {
	list, err := catalog.Embedded()
	if err != nil {
		panic(fmt.Sprintf("the built-in catalogue is broken: %v", err)) // a test reads it
	}
	return list
}

// publicAPI is the part of the Linode API that needs no token.
type publicAPI struct{ root string }

func (p publicAPI) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	return catalog.Fetch(ctx, http.DefaultClient, p.root)
}

func (p publicAPI) Availability(ctx context.Context, region string) ([]catalog.Availability, error) {
	return catalog.FetchAvailability(ctx, http.DefaultClient, p.root, region)
}

const recordName = linodev1alpha1.ConfigMapCluster

// record is a ConfigMap that records which cluster this is. The CLI recognizes the cluster by it before
// anything is applied, and on LKE the controller reads it if Linode does not answer at the start. The
// zero value records nothing.
type record struct {
	client    client.Client
	namespace string
}

// newRecord returns the record in the controller's namespace. Outside of a cluster, that is the
// namespace of the Lease; without one there is no record.
func newRecord(cfg Config) (record, error) {
	namespace := ownNamespace(cfg)
	if namespace == "" {
		return record{}, nil
	}
	bounded, err := kube.Config(cfg.Kube)
	if err != nil {
		return record{}, err
	}
	c, err := client.NewWithWatch(bounded, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return record{}, explainManager(err, cfg)
	}
	return record{client: kube.Client(c, cfg.Kube.Host), namespace: namespace}, nil
}

// ownNamespace returns the controller's namespace; "" if it has none.
func ownNamespace(cfg Config) string {
	if cfg.LeaderElectionNamespace != "" {
		return cfg.LeaderElectionNamespace
	}
	own, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(own))
}

// note returns the recorded cluster; the zero value if there is none, or if it cannot be read.
func (r record) note(ctx context.Context, cfg Config) (cluster api.Cluster) {
	if r.client == nil {
		return cluster
	}
	var note corev1.ConfigMap
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: recordName}, &note); err != nil {
		if !apierrors.IsNotFound(err) {
			cfg.Log.Warn("cannot read the record of the cluster", "configmap", r.namespace+"/"+recordName, "error", err)
		}
		return cluster
	}
	cluster.ID, _ = strconv.Atoi(note.Data["id"])
	cluster.Label, cluster.Region, cluster.Tier = note.Data["label"], note.Data["region"], note.Data["tier"]
	cluster.K8sVersion = note.Data["version"]
	return cluster
}

// checkSettings returns an error if an earlier controller of the cluster had other settings that identify its
// machines; nil if nothing is recorded.
func (r record) checkSettings(ctx context.Context, cfg Config, cluster api.Cluster) error {
	was := r.note(ctx, cfg)
	instances := func(c api.Cluster) bool { return c.Tier == string(catalog.Instances) }
	var what string
	switch {
	case was.Label == "" || was.Tier == "":
		return nil
	case instances(was) != instances(cluster):
		what = "the controller ran in another mode before"
	case instances(cluster) && was.Label != cluster.Label:
		what = fmt.Sprintf("the cluster was called %s and not %s", was.Label, cluster.Label)
	case instances(cluster) && was.Region != cluster.Region:
		what = fmt.Sprintf("the cluster was in %s and not in %s", was.Region, cluster.Region)
	default:
		return nil
	}
	return fmt.Errorf("%s, according to ConfigMap %s in namespace %s, and the controller would not recognize its "+
		"existing machines: revert the setting, or delete the ConfigMap if no NodeClaim is left", what, recordName,
		r.namespace)
}

// cluster returns the recorded LKE cluster, if it matches the settings.
func (r record) cluster(ctx context.Context, cfg Config) (cluster api.Cluster, known bool) {
	cluster = r.note(ctx, cfg)
	whole := cluster.ID > 0 && cluster.Label != "" && cluster.Region != "" && cluster.Tier != ""
	same := (cfg.ClusterID == 0 || cfg.ClusterID == cluster.ID) &&
		(cfg.ClusterName == "" || cfg.ClusterName == cluster.Label)
	return cluster, whole && same
}

// keep records the cluster; if it is not an LKE cluster, with the tag of its Linodes instead of an ID.
// Values without a meaning are recorded as empty, because the record may exist from another mode.
func (r record) keep(ctx context.Context, cfg Config, cluster api.Cluster, tag string) {
	if r.client == nil {
		return
	}
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: recordName}}
	var id string
	if cluster.ID != 0 {
		id = strconv.Itoa(cluster.ID)
	}
	note.Data = map[string]string{
		"id": id, "label": cluster.Label, "region": cluster.Region, "tier": cluster.Tier,
		"version": cluster.K8sVersion, "tag": tag,
	}
	err := r.client.Create(ctx, note)
	if apierrors.IsAlreadyExists(err) {
		none := &corev1.ConfigMap{ObjectMeta: note.ObjectMeta}
		err = r.client.Patch(ctx, note, client.MergeFrom(none))
	}
	if err != nil {
		cfg.Log.Warn("cannot record the cluster; plan and apply may not recognize it, and on LKE a start would fail "+
			"while Linode does not answer", "configmap", r.namespace+"/"+recordName, "error", err)
	}
}
