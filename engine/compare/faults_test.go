package compare_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/kube/kubetest"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// served are the kinds that a comparison or a snapshot asks for.
var served = map[string]string{
	"v1/nodes": "Node", "v1/pods": "Pod", "v1/namespaces": "Namespace", "apps/v1/daemonsets": "DaemonSet",
	"policy/v1/poddisruptionbudgets": "PodDisruptionBudget",
	"karpenter.sh/v1/nodeclaims":     "NodeClaim", "karpenter.sh/v1/nodepools": "NodePool",
	"karpenter.k8s.linode/v1/linodenodeclasses":    "LinodeNodeClass",
	"lkeplan.dev/v1alpha1/capacitylimits":          "CapacityLimit",
	"autoscaling.x-k8s.io/v1beta1/capacitybuffers": "CapacityBuffer",
	"karpenter.sh/v1alpha1/nodeoverlays":           "NodeOverlay",
}

// readers are what reads a cluster by lists, and what each says of it.
var readers = map[string]func(ctx context.Context, in compare.View) (notes []string, err error){
	"snapshot": func(ctx context.Context, in compare.View) ([]string, error) {
		taken, err := compare.TakeSnapshot(ctx, in, time.Now(), false)
		if err != nil {
			return nil, err
		}
		if taken.Shapes != nil {
			taken.Notes = append(taken.Notes, taken.Shapes.Notes...)
		}
		return taken.Notes, nil
	},
	"diff --base live": func(ctx context.Context, in compare.View) ([]string, error) {
		prices, err := catalog.Embedded()
		if err != nil {
			return nil, err
		}
		found, err := compare.Live(ctx, compile.Result{}, in, compare.LiveOptions{Prices: prices, Now: time.Now()})
		return found.Plan.Notes, err
	},
	"apply that waits": func(ctx context.Context, in compare.View) ([]string, error) {
		prices, err := catalog.Embedded()
		if err != nil {
			return nil, err
		}
		_, notes, err := compare.UnderWay(ctx, in, compile.Result{}, prices, time.Now())
		return notes, err
	},
	"simulate --workloads live": func(ctx context.Context, in compare.View) ([]string, error) {
		set, err := compare.Shapes(ctx, in)
		return set.Notes, err
	},
}

// TestEachListThatFails: the command ends or, if the list is refused and the rest can be shown, names the resource for which
// the right is missing. A list that fails never counts as an empty one.
func TestEachListThatFails(t *testing.T) {
	for command, read := range readers {
		for resource := range served {
			for _, fault := range []kubetest.Fault{kubetest.Refused, kubetest.Success, kubetest.Other, kubetest.Hangs} {
				t.Run(command+" "+resource+" "+string(fault), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { failing(t, read, resource, fault) })
				})
			}
		}
	}
}

func failing(t *testing.T, read func(context.Context, compare.View) ([]string, error), resource string,
	fault kubetest.Fault) {
	asked := false
	server := &kubetest.Server{Kinds: served, Fault: func(path string) kubetest.Fault {
		if strings.HasSuffix(path, resource) {
			asked = true
			return fault
		}
		return kubetest.Fine
	}}
	cluster, err := kube.NewCluster(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	notes, err := read(t.Context(), compare.LiveView(cluster))
	if !asked {
		if err != nil {
			t.Errorf("without that list: %v", err)
		}
		return
	}
	parts := strings.Split(resource, "/")
	name := parts[len(parts)-1]
	if len(parts) == 3 {
		name += "." + parts[0]
	}
	var silence kube.NoResponseError
	var wrong kube.KindError
	switch {
	case fault == kubetest.Hangs && errors.As(err, &silence) && strings.HasSuffix(silence.Request, resource):
	case fault == kubetest.Success && errors.As(err, &wrong) && wrong.Kind == "a Status":
	case fault == kubetest.Other && errors.As(err, &wrong) && wrong.Kind == "a ConfigMapList":
	case fault == kubetest.Refused && apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot list"):
	case fault == kubetest.Refused && err == nil && name == "namespaces": // of which no pod has a selector
	case fault == kubetest.Refused && err == nil && slices.ContainsFunc(notes, func(note string) bool {
		return strings.Contains(note, "may not list "+name)
	}):
	default:
		t.Errorf("%v, and notes %q", err, notes)
	}
}
