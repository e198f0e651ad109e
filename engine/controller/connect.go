package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// account is the Linode side of the controller.
type account struct {
	api      *api.Client
	standing *api.Standing
	cluster  api.Cluster
	lease    *lease // without it no call is sent that changes something
	prices   *catalog.Catalog
	fresh    bool // the prices were read from the API
	kept     record
}

// connect returns a client for the Linode API and the cluster that it is for. Where
// Linode does not answer, or refuses the token, the cluster is the one that the
// controller has recorded in an earlier life: the rest works without Linode, and
// capacity waits for it.
func connect(ctx context.Context, cfg Config, kept record) (*account, error) {
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
		if !known || !passing(err) {
			return nil, api.Explain(err, cfg.LinodeURL)
		}
		a.cluster = recorded
		cfg.Log.Warn("Linode cannot be asked for the cluster; it is taken to be what it was, and no node is made until "+
			"Linode answers", "id", recorded.ID, "error", api.Explain(err, cfg.LinodeURL))
		a.prices, a.fresh = builtInCatalog(), false
		return a, nil
	}
	if recorded.ID != 0 && recorded.ID != a.cluster.ID {
		return nil, otherCluster(a.cluster, recorded.ID, fmt.Sprintf("by ConfigMap %s in namespace %s, which you "+
			"delete where that has changed", recordName, kept.namespace))
	}
	if !a.api.MayUse(api.ScopePools) {
		return nil, fmt.Errorf("the Linode API token lacks the scope %s: it has %s; make one that has it in Cloud Manager "+
			"(My Profile, API Tokens: Kubernetes, Read/Write) and set LINODE_TOKEN to it",
			api.ScopePools, strings.Join(a.api.Scopes(), " "))
	}
	if err := kept.differs(ctx, cfg, a.cluster); err != nil {
		return nil, err
	}
	kept.keep(ctx, cfg, a.cluster, "")
	a.prices, a.fresh = readCatalog(ctx, cfg)
	return a, nil
}

// newAccount returns a client for the Linode API, which nothing was asked of yet.
func newAccount(cfg Config, scope string) (*account, error) {
	a := &account{standing: api.NewStanding(scope), lease: new(lease)}
	var err error
	a.api, err = api.New(cfg.LinodeURL, cfg.LinodeToken, api.Options{
		Timeout: cfg.LinodeTimeout,
		Gate:    a.lease.Held,
		Observe: func(call api.Call) {
			observeLinode(cfg.Log, call)
			a.standing.Observe(call)
			cfg.claims.Call(call)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("set LINODE_URL: %w", err)
	}
	return a, nil
}

// connectInstances returns a client for the Linode API, and the cluster that runs by itself.
// Linode does not know that, so nothing is asked of it but prices.
func connectInstances(ctx context.Context, cfg Config, kept record) (*account, error) {
	switch {
	case cfg.LinodeToken == "":
		return nil, errors.New("no Linode API token; set LINODE_TOKEN to one with the scope " + api.ScopeInstances)
	case cfg.ClusterID != 0:
		return nil, errors.New("LKE_CLUSTER_ID names a cluster of LKE, and --mode instance is for others; take one of " +
			"the two away")
	case cfg.Region == "":
		return nil, errors.New("no region; with --mode instance set LINODE_REGION to the one that the cluster is in, " +
			"such as us-ord")
	}
	a, err := newAccount(cfg, api.ScopeInstances)
	if err != nil {
		return nil, err
	}
	a.kept = kept
	a.cluster = api.Cluster{Label: cfg.ClusterName, Region: cfg.Region, Tier: string(catalog.Instances)}
	if err := kept.differs(ctx, cfg, a.cluster); err != nil {
		return nil, err
	}
	a.prices, a.fresh = readCatalog(ctx, cfg)
	if _, known := a.prices.Region(cfg.Region); !known {
		return nil, fmt.Errorf("there is no region %q on Linode's list %s; correct LINODE_REGION", cfg.Region,
			a.prices.Age())
	}
	return a, nil
}

// askForCluster asks Linode for the cluster, with less patience where it is known.
func askForCluster(ctx context.Context, api *api.Client, cfg Config, known bool) (api.Cluster, error) {
	patience := 30 * time.Second
	if known {
		patience = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cluster, err := findCluster(ctx, api, cfg)
	if err == nil && cfg.Region != "" && cfg.Region != cluster.Region {
		return cluster, wrongSetting{fmt.Sprintf("LKE cluster %s is in %s, not in %s; correct LINODE_REGION, or take it away",
			cluster.Label, cluster.Region, cfg.Region)}
	}
	return cluster, err
}

// wrongSetting is an error of who configured the controller: Linode has answered.
type wrongSetting struct{ text string }

func (w wrongSetting) Error() string { return w.text }

// otherCluster says that the settings name another LKE cluster than the one whose nodes
// these are. Every node would seem to have lost its machine.
func otherCluster(named api.Cluster, is int, by string) error {
	return wrongSetting{fmt.Sprintf("this is LKE cluster %d, %s; the settings name %d (%s): correct LKE_CLUSTER_ID or "+
		"CLUSTER_NAME", is, by, named.ID, named.Label)}
}

var nodeOfLKE = regexp.MustCompile(`^lke(\d+)-`)

// requireOwnNodes makes sure that there are Nodes of the cluster, where there are Nodes of
// LKE: it names each after its cluster. After a restore into another cluster those of the
// old one may be left.
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
		other = otherCluster(cluster, id, "by its Node "+node.Name)
	}
	return other
}

// passing reports whether an error may end by itself, or by what somebody does at
// Linode.
func passing(err error) bool {
	switch api.ClassOf(err) {
	case api.ClassUnknown, api.ClassBusy, api.ClassAuth:
		return true
	}
	return false
}

// findCluster finds the cluster by its number, else by its label.
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
			"the account has no LKE cluster called %q; it has: %s; correct CLUSTER_NAME", cfg.ClusterName, orNone(labels))}
	}
	return api.Cluster{}, wrongSetting{fmt.Sprintf(
		"the account has %d LKE clusters called %q; set LKE_CLUSTER_ID to the number of the one that is meant", len(found),
		cfg.ClusterName)}
}

func orNone(labels []string) string {
	const most = 10
	if len(labels) == 0 {
		return "none"
	}
	if len(labels) > most {
		return strings.Join(labels[:most], ", ") + fmt.Sprintf(" and %d more", len(labels)-most)
	}
	return strings.Join(labels, ", ")
}

// readCatalog reads the catalogue from the API's public endpoints, and takes the
// built-in one where that fails: a node at yesterday's price is better than
// none.
func readCatalog(ctx context.Context, cfg Config) (list *catalog.Catalog, fresh bool) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	list, err := publicAPI{api.Root(cfg.LinodeURL)}.Catalog(ctx)
	if err == nil {
		return list, true
	}
	list = builtInCatalog()
	cfg.Log.Warn("the catalogue of plans could not be read; using the built-in one", "age", list.Age(), "error", err)
	return list, false
}

func builtInCatalog() *catalog.Catalog {
	list, err := catalog.Embedded()
	if err != nil {
		panic(fmt.Sprintf("the built-in catalogue is broken: %v", err)) // a test reads it
	}
	return list
}

// publicAPI is the part of the Linode API that takes no token.
type publicAPI struct{ root string }

func (p publicAPI) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	return catalog.Fetch(ctx, http.DefaultClient, p.root)
}

func (p publicAPI) Availability(ctx context.Context, region string) ([]catalog.Availability, error) {
	return catalog.FetchAvailability(ctx, http.DefaultClient, p.root, region)
}
