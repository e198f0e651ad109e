// Package leave ends what lkeplan does in a cluster: nodes are drained and gone, or they
// stay, with nothing on them that only lkeplan takes off.
//
// It knows what was made, not what it was made from: whoever leaves need not have the
// configuration. It asks Linode for nothing.
package leave

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Cluster is the cluster to leave; kube.Cluster is one.
type Cluster interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
	Merge(ctx context.Context, obj, change map[string]any, manager string) error
	Delete(ctx context.Context, obj map[string]any) error
}

// manager owns the fields that are changed here.
const manager = "lkeplan-uninstall"

// kind is a kind of object that lkeplan makes, or puts something on.
type kind struct{ apiVersion, name string }

var (
	nodePlan  = kind{"lkeplan.dev/v1alpha1", "NodePlan"}
	nodePool  = kind{"karpenter.sh/v1", "NodePool"}
	nodeClaim = kind{"karpenter.sh/v1", "NodeClaim"}
	nodeClass = kind{"karpenter.k8s.linode/v1", "LinodeNodeClass"}
	node      = kind{"v1", "Node"}
)

// Holdings are what lkeplan has in a cluster.
type Holdings struct {
	NodePlans, Pools, Claims, Classes []map[string]any
	Nodes                             []map[string]any // that Karpenter has made
}

// Read lists what lkeplan has in a cluster. A kind that the cluster does not know has no
// objects.
func Read(ctx context.Context, from Cluster) (h Holdings, err error) {
	for of, into := range map[kind]*[]map[string]any{
		nodePlan: &h.NodePlans, nodePool: &h.Pools, nodeClaim: &h.Claims, nodeClass: &h.Classes, node: &h.Nodes,
	} {
		found, err := from.List(ctx, of.apiVersion, of.name)
		if err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			return h, err
		}
		*into = slices.DeleteFunc(found, func(obj map[string]any) bool { return of.foreign(obj) })
	}
	return h, nil
}

// foreign reports whether an object is another provider's, or nobody's.
func (k kind) foreign(obj map[string]any) bool {
	ref := func(path ...string) string { return manifest.Text(obj, append(path, "nodeClassRef", "group")...) }
	switch k {
	case nodePool:
		return ref("spec", "template", "spec") != linode
	case nodeClaim:
		return ref("spec") != linode
	case node:
		return poolOf(obj) == "" && len(releasedFrom(obj)) == 0
	}
	return false
}

const linode = "karpenter.k8s.linode"

func poolOf(obj map[string]any) string { return manifest.Label(obj, "karpenter.sh/nodepool") }

// finalizers are those that only lkeplan takes off, when it has done what they wait for.
var finalizers = []string{"karpenter.sh/termination", "karpenter.k8s.linode/termination", "lkeplan.dev/finalizer"}

// releasedFrom are the finalizers of an object that only lkeplan takes off.
func releasedFrom(obj map[string]any) (names []string) {
	all, _ := manifest.Lookup(obj, "metadata", "finalizers")
	list, _ := all.([]any)
	for _, name := range list {
		if text, _ := name.(string); slices.Contains(finalizers, text) {
			names = append(names, text)
		}
	}
	return names
}

// Release returns what to change of an object so that it, and what it owns, can go
// without lkeplan; nil where there is nothing. Of a Node that is the reference to its
// NodeClaim, with which it would be deleted, and what keeps pods from it while Karpenter
// is about to replace it.
func Release(obj map[string]any) map[string]any {
	metadata := map[string]any{}
	if len(releasedFrom(obj)) > 0 {
		metadata["finalizers"] = without(obj, func(f any) bool {
			name, _ := f.(string)
			return slices.Contains(finalizers, name)
		}, "metadata", "finalizers")
	}
	change := map[string]any{"metadata": metadata}
	if manifest.Kind(obj) == node.name {
		owned := func(ref any) bool {
			fields, _ := ref.(map[string]any)
			return manifest.Kind(fields) == nodeClaim.name && strings.HasPrefix(manifest.APIVersion(fields), "karpenter.sh/")
		}
		if has(obj, owned, "metadata", "ownerReferences") {
			metadata["ownerReferences"] = without(obj, owned, "metadata", "ownerReferences")
		}
		if has(obj, leaving, "spec", "taints") {
			change["spec"] = map[string]any{"taints": without(obj, leaving, "spec", "taints")}
		}
	}
	if len(metadata) == 0 && change["spec"] == nil {
		return nil
	}
	// The lists are replaced whole, so nobody must have changed them meanwhile.
	metadata["resourceVersion"] = manifest.Text(obj, "metadata", "resourceVersion")
	return change
}

// leaving reports whether a taint is of a node that Karpenter replaces, or has not
// registered.
func leaving(taint any) bool {
	fields, _ := taint.(map[string]any)
	key := manifest.Text(fields, "key")
	return key == "karpenter.sh/disrupted" || key == "karpenter.sh/unregistered"
}

func has(obj map[string]any, what func(any) bool, path ...string) bool {
	value, _ := manifest.Lookup(obj, path...)
	list, _ := value.([]any)
	return slices.ContainsFunc(list, what)
}

func without(obj map[string]any, what func(any) bool, path ...string) []any {
	value, _ := manifest.Lookup(obj, path...)
	list, _ := value.([]any)
	return slices.DeleteFunc(slices.Clone(list), what)
}

// release takes off an object what only lkeplan takes off. Somebody may write to it at
// the same time.
func release(ctx context.Context, in Cluster, obj map[string]any) error {
	const attempts = 5
	var err error
	for range attempts {
		if obj == nil {
			return nil // it is gone
		}
		change := Release(obj)
		if change == nil {
			return nil
		}
		if err = in.Merge(ctx, obj, change, manager); err == nil {
			return nil
		}
		var readErr error
		if obj, readErr = in.Get(ctx, obj); readErr != nil {
			return errors.Join(err, readErr)
		}
	}
	return fmt.Errorf("release an object that others keep changing: %w", err)
}
