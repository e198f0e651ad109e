package engine

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// lister is the cluster as DiffLive reads it; kube.Cluster is one. It is asked
// for lists and changes nothing.
type lister interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
}

// DiffLive says what applying head to a cluster does: to its objects, field by
// field as a server-side apply would leave them, and to each of its nodes. The
// cluster is only read. Objects of the cluster that head does not have stay as
// they are, and are not in the plan.
func DiffLive(ctx context.Context, head Compiled, cluster lister, prices *catalog.Catalog) (plan.Plan, error) {
	linode.Register()
	validator, err := defaultValidator()
	if err != nil {
		return plan.Plan{}, err
	}
	live, err := liveObjects(ctx, head, cluster)
	if err != nil {
		return plan.Plan{}, err
	}
	nodes, err := liveNodes(ctx, cluster)
	if err != nil {
		return plan.Plan{}, err
	}
	before := plan.State{Offers: offers(head.Cluster, prices), Nodes: nodes}
	after := plan.State{Offers: before.Offers, Nodes: nodes}
	for _, r := range head.Resources {
		there := live[r.Kind()+" "+r.Name()]
		predicted, conflicts, err := validator.Predict(there, r.Manifest)
		if err != nil {
			return plan.Plan{}, err
		}
		after.Objects = append(after.Objects, plan.Object{Resource: r.Resource, Defaulted: predicted, Conflicts: conflictsOf(conflicts)})
		if there != nil {
			old := config.Resource{Addr: r.Addr, Manifest: there, Origins: r.Origins}
			before.Objects = append(before.Objects, plan.Object{Resource: old, Defaulted: there})
		}
	}
	return plan.Diff(before, after)
}

// liveObjects returns the cluster's objects of all kinds that head has.
func liveObjects(ctx context.Context, head Compiled, cluster lister) (map[string]map[string]any, error) {
	found := map[string]map[string]any{}
	asked := map[string]bool{}
	for _, r := range head.Resources {
		apiVersion, _ := r.Manifest["apiVersion"].(string)
		if asked[r.Kind()] {
			continue
		}
		asked[r.Kind()] = true
		objects, err := cluster.List(ctx, apiVersion, r.Kind())
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			found[r.Kind()+" "+nameOf(o)] = o
		}
	}
	return found, nil
}

// liveNodes returns the cluster's NodeClaims; never nil.
func liveNodes(ctx context.Context, cluster lister) ([]plan.Node, error) {
	claims, err := cluster.List(ctx, "karpenter.sh/v1", "NodeClaim")
	if err != nil {
		return nil, err
	}
	nodes := make([]plan.Node, 0, len(claims))
	for _, c := range claims {
		u := unstructured.Unstructured{Object: c}
		class, _, err := unstructured.NestedString(c, "spec", "nodeClassRef", "name")
		if err != nil {
			return nil, fmt.Errorf("read NodeClaim %s: %w", u.GetName(), err)
		}
		nodes = append(nodes, plan.Node{
			Name: u.GetName(), Pool: u.GetLabels()[karpv1.NodePoolLabelKey], Class: class,
			Labels: u.GetLabels(), Annotations: u.GetAnnotations(),
		})
	}
	return nodes, nil
}

func conflictsOf(found []kube.Conflict) (conflicts []plan.Conflict) {
	for _, c := range found {
		conflicts = append(conflicts, plan.Conflict{Path: strings.TrimPrefix(c.Field, "."), Owner: c.Owner})
	}
	return conflicts
}
