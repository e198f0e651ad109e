package doctor

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// probes are objects that the API server is asked to take in a dry run: what webhooks and
// policies of others refuse, the controller cannot write either.
func probes() []map[string]any {
	object := func(apiVersion, kind string, spec map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "lkeplan-doctor"}, "spec": spec,
		}
	}
	ref := map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "lkeplan-doctor"}
	amd64 := []any{map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}}}
	return []map[string]any{
		object("karpenter.k8s.linode/v1", "LinodeNodeClass", map[string]any{}),
		object("karpenter.sh/v1", "NodePool", map[string]any{
			"template": map[string]any{"spec": map[string]any{"nodeClassRef": ref, "requirements": amd64}},
		}),
		object("karpenter.sh/v1", "NodeClaim", map[string]any{"nodeClassRef": ref, "requirements": amd64}),
	}
}

// admission has the API server try the objects.
func (p Patient) admission(ctx context.Context) []Finding {
	const of = "admission"
	for _, object := range probes() {
		_, _, err := p.Cluster.DryRun(ctx, nil, object)
		switch {
		case meta.IsNoMatchError(err):
			return nil // crds says it
		case err != nil:
			return []Finding{{Fail, of, err.Error(),
				"let this user write it, or have the webhook or policy that refuses it exempt what is of Karpenter and Linode"}}
		}
	}
	return []Finding{{OK, of, "the API server takes node classes, pools and NodeClaims in a dry run", ""}}
}

// objects looks at what pools, classes and NodePlans say of themselves.
func (p Patient) objects(ctx context.Context) []Finding {
	var found []Finding
	for _, kind := range []struct{ apiVersion, name string }{
		{"karpenter.k8s.linode/v1", "LinodeNodeClass"}, {"karpenter.sh/v1", "NodePool"}, {"lkeplan.dev/v1alpha1", "NodePlan"},
	} {
		all, err := p.Cluster.List(ctx, kind.apiVersion, kind.name)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			found = append(found, unknown(kind.name, err)...)
			continue
		}
		ready := 0
		for _, obj := range all {
			if ok, why := kube.Readiness(obj); ok {
				ready++
			} else {
				found = append(found, Finding{Warn, manifest.KeyOf(obj).String(), "not ready: " + why, ""})
			}
		}
		if ready > 0 {
			found = append(found, Finding{OK, kind.name, fmt.Sprintf("%d are ready", ready), ""})
		}
	}
	return found
}
