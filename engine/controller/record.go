package controller

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

const recordName = linodev1alpha1.ConfigMapCluster

// record is where the note is kept: which cluster this is. With it the CLI knows the cluster
// before anything is applied to it, and on LKE it is read where Linode cannot be asked at start.
// Its zero value keeps none.
type record struct {
	client    client.Client
	namespace string
}

// newRecord returns the record in the controller's own namespace. Outside a cluster
// that is the Lease's, and without one there is no record.
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

// ownNamespace is the controller's own namespace; "" where it has none.
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

// note returns what was noted; nothing where there is no note, or it cannot be read.
func (r record) note(ctx context.Context, cfg Config) (cluster api.Cluster) {
	if r.client == nil {
		return cluster
	}
	var note corev1.ConfigMap
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: recordName}, &note); err != nil {
		if !apierrors.IsNotFound(err) {
			cfg.Log.Warn("could not read which cluster this is", "configmap", r.namespace+"/"+recordName, "error", err)
		}
		return cluster
	}
	cluster.ID, _ = strconv.Atoi(note.Data["id"])
	cluster.Label, cluster.Region, cluster.Tier = note.Data["label"], note.Data["region"], note.Data["tier"]
	cluster.K8sVersion = note.Data["version"]
	return cluster
}

// differs says what an earlier controller of the cluster had otherwise that its machines are
// known by; nil where nothing is noted.
func (r record) differs(ctx context.Context, cfg Config, cluster api.Cluster) error {
	was := r.note(ctx, cfg)
	instances := func(c api.Cluster) bool { return c.Tier == string(catalog.Instances) }
	var what string
	switch {
	case was.Label == "" || was.Tier == "":
		return nil
	case instances(was) != instances(cluster):
		what = "it was run in another mode than this one"
	case instances(cluster) && was.Label != cluster.Label:
		what = fmt.Sprintf("the cluster was called %s and not %s", was.Label, cluster.Label)
	case instances(cluster) && was.Region != cluster.Region:
		what = fmt.Sprintf("the cluster was in %s and not in %s", was.Region, cluster.Region)
	default:
		return nil
	}
	return fmt.Errorf("%s, by ConfigMap %s in namespace %s, and the machines that there are would be nobody's: set that "+
		"back, or delete the ConfigMap where no NodeClaim is left", what, recordName, r.namespace)
}

// cluster returns the cluster of LKE that was noted, where that is the one of the settings.
func (r record) cluster(ctx context.Context, cfg Config) (cluster api.Cluster, known bool) {
	cluster = r.note(ctx, cfg)
	whole := cluster.ID > 0 && cluster.Label != "" && cluster.Region != "" && cluster.Tier != ""
	same := (cfg.ClusterID == 0 || cfg.ClusterID == cluster.ID) &&
		(cfg.ClusterName == "" || cfg.ClusterName == cluster.Label)
	return cluster, whole && same
}

// keep notes the cluster; of one that is not LKE's with the tag of its Linodes, in place of an
// id. What has no meaning is noted as empty, for the note may be there from another mode.
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
		cfg.Log.Warn("could not note which cluster this is; plan and apply may not know it, and on LKE a start while Linode "+
			"does not answer would fail", "configmap", r.namespace+"/"+recordName, "error", err)
	}
}
