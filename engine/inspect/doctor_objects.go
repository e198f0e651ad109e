package inspect

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// probe is an object of a resource.
type probe struct {
	resource string
	object   map[string]any
}

// probes are objects that the API server is asked to take in a dry run: what webhooks and
// policies of others refuse, the controller cannot write either.
func probes() []probe {
	object := func(resource, apiVersion, kind string, spec map[string]any) probe {
		return probe{resource, map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "lkeplan-doctor"}, "spec": spec,
		}}
	}
	ref := map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "lkeplan-doctor"}
	amd64 := []any{map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}}}
	return []probe{
		object("linodenodeclasses", "karpenter.k8s.linode/v1", "LinodeNodeClass", map[string]any{}),
		object("nodepools", "karpenter.sh/v1", "NodePool", map[string]any{
			"template": map[string]any{"spec": map[string]any{"nodeClassRef": ref, "requirements": amd64}},
		}),
		object("nodeclaims", "karpenter.sh/v1", "NodeClaim", map[string]any{"nodeClassRef": ref, "requirements": amd64}),
	}
}

// admission has the API server try the objects.
func (p Installation) admission(ctx context.Context) []Finding {
	const of = "admission"
	for _, try := range probes() {
		_, _, err := p.Cluster.DryRun(ctx, nil, try.object)
		switch {
		case meta.IsNoMatchError(err):
			return nil // crds says it
		case apierrors.IsForbidden(err) && !p.may(ctx, try):
			return notKnown(of, err)
		case err != nil:
			return []Finding{{LevelFail, of, err.Error(),
				"have the webhook or policy that refuses it exempt what is of Karpenter and Linode"}}
		}
	}
	return []Finding{{LevelOK, of, "the API server takes node classes, pools and NodeClaims in a dry run", ""}}
}

// may reports whether the user may apply an object. Where not, nobody else was asked about
// it. It is true where that cannot be told.
func (p Installation) may(ctx context.Context, try probe) bool {
	group, _, _ := strings.Cut(manifest.APIVersion(try.object), "/")
	for _, verb := range []string{"patch", "create"} {
		right := authorizationv1.ResourceAttributes{Group: group, Resource: try.resource, Verb: verb}
		allowed, err := p.Cluster.MayI(ctx, right)
		if err == nil && !allowed {
			return false
		}
	}
	return true
}

// objects looks at what pools, classes and NodePlans say of themselves.
func (p Installation) objects(ctx context.Context) []Finding {
	var found []Finding
	for _, kind := range []struct{ apiVersion, name string }{
		{"karpenter.k8s.linode/v1", "LinodeNodeClass"}, {"karpenter.sh/v1", "NodePool"}, {"lkeplan.dev/v1alpha1", "NodePlan"},
	} {
		all, err := p.Cluster.List(ctx, kind.apiVersion, kind.name)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			found = append(found, notKnown(kind.name, err)...)
			continue
		}
		ready := 0
		for _, obj := range all {
			if ok, why := kube.Readiness(obj); ok {
				ready++
			} else {
				found = append(found, Finding{LevelWarn, manifest.KeyOf(obj).String(), "not ready: " + why, ""})
			}
		}
		if ready > 0 {
			found = append(found, Finding{LevelOK, kind.name, fmt.Sprintf("%d ready", ready), ""})
		}
	}
	return found
}
