package inspect

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// objects checks the conditions of pools, classes and NodePlans.
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
			switch ok, why := kube.Readiness(obj); {
			case kind.name == "NodePlan" && manifest.Map(obj, "spec")["suspend"] == true:
				found = append(found, Finding{LevelWarn, manifest.KeyOf(obj).String(), "it is suspended: nothing is compared or " +
					"applied",
					fmt.Sprintf("lkeplan nodeplan resume -n %s %s", manifest.Namespace(obj), manifest.Name(obj))})
			case ok:
				ready++
			default:
				found = append(found, Finding{LevelWarn, manifest.KeyOf(obj).String(), "not ready: " + why, ""})
			}
		}
		if ready > 0 {
			found = append(found, Finding{LevelOK, kind.name, fmt.Sprintf("%d ready", ready), ""})
		}
	}
	return found
}
