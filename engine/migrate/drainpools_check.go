package migrate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/api"
)

// Check returns what speaks against a move, before anything is changed: no pool that could
// make nodes, an LKE pool whose nodes this cluster does not have, one that the controller
// runs on, pods that would not be recreated, or that can run on these nodes only.
func (m PoolDrain) Check(ctx context.Context, pools []api.Pool) error {
	nodes, err := cluster.List[corev1.Node](ctx, m.Cluster, "v1", "Node")
	if err != nil {
		return err
	}
	pods, err := cluster.List[corev1.Pod](ctx, m.Cluster, "v1", "Pod")
	if err != nil {
		return err
	}
	errs := []error{m.hasReadyPool(ctx)}
	for _, p := range pools {
		of := nodesOf(nodes, m.ClusterID, p.ID)
		if len(of) == 0 && p.Count > 0 {
			errs = append(errs, fmt.Errorf("this cluster has no node of LKE pool %d: its nodes have not joined, or the "+
				"kubeconfig is another cluster's", p.ID))
		}
		for _, node := range of {
			errs = append(errs, m.objections(p.ID, cluster.PodsToMove(pods, node.Name))...)
		}
	}
	return errors.Join(errs...)
}

// hasReadyPool returns an error if there is no pool whose nodes could take the pods.
func (m PoolDrain) hasReadyPool(ctx context.Context) error {
	pools, err := cluster.List[karpv1.NodePool](ctx, m.Cluster, "karpenter.sh/v1", "NodePool")
	if err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	why := "there is none"
	for _, pool := range pools {
		if !pool.DeletionTimestamp.IsZero() {
			continue
		}
		ready := pool.StatusConditions(status.WithObservedOnly()).Root()
		if !ready.IsFalse() {
			return nil
		}
		why = fmt.Sprintf("%s is not ready%s", pool.Name, colon(ready.Message))
	}
	return fmt.Errorf("no pool of this cluster can make nodes for the pods: %s; apply what import --lke has written", why)
}

func (m PoolDrain) objections(pool int, pods []*corev1.Pod) (errs []error) {
	for _, pod := range pods {
		switch tied, controller := tiedBy(pod, pool), metav1.GetControllerOfNoCopy(pod); {
		case !pod.DeletionTimestamp.IsZero():
		case pod.Labels["app.kubernetes.io/part-of"] == "lkeplan":
			errs = append(errs, fmt.Errorf("the controller, %s, runs on LKE pool %d, and cannot run on nodes that it "+
				"makes itself: leave this LKE pool, and name the others", keyOf(pod), pool))
		case !m.Unmanaged && controller == nil:
			errs = append(errs, fmt.Errorf("pod %s on LKE pool %d has no controller and would not be recreated: delete it, or "+
				"let it go by --unmanaged-pods", keyOf(pod), pool))
		case tied != "" && controller != nil:
			errs = append(errs, fmt.Errorf("the pod %s can run on nodes of LKE pool %d only, by its nodeSelector %s: take "+
				"that out of what makes it", keyOf(pod), pool, tied))
		}
	}
	return errs
}

// tiedBy is the label of nodes of one LKE pool only that a pod selects; "" if it selects none.
func tiedBy(pod *corev1.Pod, pool int) string {
	if pod.Spec.NodeSelector[poolLabel] == strconv.Itoa(pool) {
		return poolLabel
	}
	if _, found := pod.Spec.NodeSelector[corev1.LabelHostname]; found {
		return corev1.LabelHostname
	}
	return ""
}
