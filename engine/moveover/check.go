package moveover

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Check returns what speaks against a move, before anything is changed: no pool that could
// make nodes, an LKE pool whose nodes this cluster does not have, one that the controller
// runs on, pods that nobody would make again, or that can run on these nodes only.
func (m Move) Check(ctx context.Context, pools []api.Pool) error {
	nodes, err := m.Cluster.List(ctx, "v1", "Node")
	if err != nil {
		return err
	}
	pods, err := m.Cluster.List(ctx, "v1", "Pod")
	if err != nil {
		return err
	}
	errs := []error{m.takers(ctx)}
	for _, p := range pools {
		of := nodesOf(nodes, m.ClusterID, p.ID)
		if len(of) == 0 && p.Count > 0 {
			errs = append(errs, fmt.Errorf("this cluster has no node of LKE pool %d: its nodes have not joined, or the "+
				"kubeconfig is another cluster's", p.ID))
		}
		for _, node := range of {
			errs = append(errs, m.objections(p.ID, movable(pods, manifest.Name(node)))...)
		}
	}
	return errors.Join(errs...)
}

// takers makes sure that there is a pool whose nodes could take the pods.
func (m Move) takers(ctx context.Context) error {
	pools, err := m.Cluster.List(ctx, "karpenter.sh/v1", "NodePool")
	if err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	why := "there is none"
	for _, pool := range pools {
		switch ready := condition(pool, "Ready"); {
		case deleted(pool):
		case ready != "False":
			return nil
		default:
			why = fmt.Sprintf("%s is not ready%s", manifest.Name(pool), says(pool, "Ready"))
		}
	}
	return fmt.Errorf("no pool of this cluster can make nodes for the pods: %s; apply what import --lke has written", why)
}

func (m Move) objections(pool int, pods []map[string]any) (errs []error) {
	for _, pod := range pods {
		switch tied := tiedBy(pod, pool); {
		case deleted(pod):
		case manifest.Label(pod, "app.kubernetes.io/part-of") == "lkeplan":
			errs = append(errs, fmt.Errorf("the controller, %s, runs on LKE pool %d, and cannot run on nodes that it "+
				"makes itself: leave this LKE pool, and name the others", nameOf(pod), pool))
		case !m.Unmanaged && controller(pod) == nil:
			errs = append(errs, fmt.Errorf("nobody would make the pod %s again, which runs on LKE pool %d: delete it, or "+
				"let it go by --unmanaged-pods", nameOf(pod), pool))
		case tied != "" && controller(pod) != nil:
			errs = append(errs, fmt.Errorf("the pod %s can run on nodes of LKE pool %d only, by its nodeSelector %s: take "+
				"that out of what makes it", nameOf(pod), pool, tied))
		}
	}
	return errs
}

// tiedBy is the label of nodes of one LKE pool only that a pod selects; "" where it does
// not.
func tiedBy(pod map[string]any, pool int) string {
	selector := manifest.Map(pod, "spec", "nodeSelector")
	if selector[poolLabel] == strconv.Itoa(pool) {
		return poolLabel
	}
	if _, found := selector["kubernetes.io/hostname"]; found {
		return "kubernetes.io/hostname"
	}
	return ""
}
