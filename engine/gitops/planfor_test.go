package gitops

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// nodePlans are the NodePlans of a cluster.
type nodePlans struct {
	client.Client
	live map[client.ObjectKey]lkeplanv1alpha1.NodePlan
}

func nodePlansOf(plans ...*lkeplanv1alpha1.NodePlan) nodePlans {
	live := map[client.ObjectKey]lkeplanv1alpha1.NodePlan{}
	for _, np := range plans {
		live[client.ObjectKeyFromObject(np)] = *np
	}
	return nodePlans{live: live}
}

func (n nodePlans) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	np, ok := n.live[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodeplans"}, key.Name)
	}
	np.DeepCopyInto(obj.(*lkeplanv1alpha1.NodePlan))
	return nil
}

func nodePlan(namespace, name string) *lkeplanv1alpha1.NodePlan {
	return &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestPlanForTarget(t *testing.T) {
	w := &Worker{
		Cache: nodePlansOf(nodePlan("a", "fleet"), nodePlan("b", "fleet")),
		Vars: func(_ context.Context, np *lkeplanv1alpha1.NodePlan) (Variables, error) {
			return Variables{Secrets: []string{"secret of " + np.Namespace}}, nil
		},
	}
	fleet := &lkeplanv1alpha1.NamespacedReference{Name: "fleet"}
	foreign := &lkeplanv1alpha1.NamespacedReference{Name: "fleet", Namespace: "b"}
	tests := []struct {
		name          string
		mode          string
		planFor       *lkeplanv1alpha1.NamespacedReference
		sameNamespace bool
		want          string // namespace/name, or a part of the message
		reason        string
	}{
		{name: "itself", mode: lkeplanv1alpha1.ModePlanOnly, want: "a/pr-7"},
		{name: "one of its namespace", mode: lkeplanv1alpha1.ModePlanOnly, planFor: fleet, sameNamespace: true,
			want: "a/fleet"},
		{name: "one of another namespace", mode: lkeplanv1alpha1.ModePlanOnly, planFor: foreign, want: "b/fleet"},
		{name: "one that it must not read", mode: lkeplanv1alpha1.ModePlanOnly, planFor: foreign, sameNamespace: true,
			want: "NodePlan b/fleet in another namespace", reason: lkeplanv1alpha1.ReasonAccessDenied},
		{name: "one that does not exist", mode: lkeplanv1alpha1.ModePlanOnly,
			planFor: &lkeplanv1alpha1.NamespacedReference{Name: "nosuch"},
			want:    "NodePlan a/nosuch, which does not exist", reason: lkeplanv1alpha1.ReasonDependency},
		{name: "none where it applies", mode: lkeplanv1alpha1.ModeApply, planFor: fleet, want: "a/pr-7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			np := nodePlan("a", "pr-7")
			np.Spec.Mode, np.Spec.PlanFor = tt.mode, tt.planFor
			w.SameNamespace = tt.sameNamespace
			got, err := w.targetOf(t.Context(), np, Variables{Secrets: []string{"its own"}})
			if err != nil {
				if o := outcomeOf(outcome{}, err); o.reason != tt.reason || !strings.Contains(o.message, tt.want) {
					t.Errorf("%s: %s", o.reason, o.message)
				}
				return
			}
			if key := client.ObjectKeyFromObject(got.NodePlan).String(); key != tt.want || tt.reason != "" {
				t.Errorf("%s, want %s", key, tt.want)
			}
			wantSecret := "its own"
			if got.NodePlan != np {
				wantSecret = "secret of " + got.Namespace
			}
			if got.vars.Secrets[0] != wantSecret {
				t.Errorf("what was last applied is compiled with %v", got.vars.Secrets)
			}
		})
	}
}

// valuesOf records the values of variables that directories were compiled with.
type valuesOf struct{ values map[string]string }

func (a valuesOf) Compile(_ context.Context, req compile.Request) (compile.Answer, error) {
	for _, v := range req.Vars {
		a.values[filepath.Base(req.Root)] += v.Value
	}
	return compile.Answer{Result: compile.Result{Compiled: config.Compiled{Cluster: config.Cluster{Name: "dev"}}}}, nil
}

// TestLastAppliedFilesKeepTheirVariables: they are compiled with those that the
// NodePlan that is planned for applied them with, also if the files are the same.
func TestLastAppliedFilesKeepTheirVariables(t *testing.T) {
	compiler := valuesOf{map[string]string{}}
	w := &Worker{
		Sources: scripted{}, Compiler: compiler, Cluster: "dev", Now: time.Now,
		Records: recorded{
			files: map[string]string{}, vars: []lkeplanv1alpha1.RecordedVariable{{Name: "name", Value: "fleet"}},
		},
		Cache: nodePlansOf(nodePlan("a", "fleet")),
		Vars: func(_ context.Context, np *lkeplanv1alpha1.NodePlan) (Variables, error) {
			return Variables{Vars: []config.Var{{Name: "name", Value: np.Name}}}, nil
		},
		Connect: func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return nil, errors.New("no cluster") },
	}
	np := nodePlan("a", "pr-7")
	np.Spec.Mode, np.Spec.PlanFor = lkeplanv1alpha1.ModePlanOnly, &lkeplanv1alpha1.NamespacedReference{Name: "fleet"}
	if o := w.Work(t.Context(), np, recordNothing); !strings.Contains(o.message, "no cluster") {
		t.Errorf("it ended before it connected: %+v", o)
	}
	if diff := cmp.Diff(map[string]string{"head": "pr-7", "base": "fleet"}, compiler.values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// TestRefusedPlanOnlyIsReadyAndWarns: and so its commit has a failure.
func TestRefusedPlanOnlyIsReadyAndWarns(t *testing.T) {
	update := plan.Change{Kind: "NodePool", Name: "web", Action: plan.Update}
	contested := update
	contested.Conflicts = []plan.Conflict{{Path: "spec.weight", Owner: "kubectl-edit"}}
	blocked := plan.Verdict{Status: plan.Blocked, Detail: "Not on Fridays."}
	tests := []struct {
		name    string
		plan    plan.Plan
		ours    owned
		refused string
		says    string
	}{
		{"one that is fine", plan.Plan{Changes: []plan.Change{update}}, nil, "", "1 to update"},
		{"one that a guard would stop", plan.Plan{Changes: []plan.Change{update}, Verdicts: []plan.Verdict{blocked}}, nil,
			lkeplanv1alpha1.ReasonGuarded, "1 to update; it would wait for approval: Not on Fridays."},
		{"one that sets back a field", plan.Plan{Changes: []plan.Change{contested}}, owned{update.Key(): true},
			"", "1 to update"},
		{"one that takes a field from others", plan.Plan{Changes: []plan.Change{contested}}, nil,
			lkeplanv1alpha1.ReasonConflict, `1 to update; currently, nothing is applied: spec.weight of NodePool web was set by "kubectl-edit": set it to the declared value`},
	}
	for _, tt := range tests {
		o := plannedOutcome(judged{Comparison: compare.Comparison{Plan: tt.plan}, ownership: ownership{ours: tt.ours}})
		ready := o.reason == lkeplanv1alpha1.ReasonPlanned && !o.stalled && !o.failed
		if !ready || o.refused != tt.refused || !strings.HasPrefix(o.message, tt.says) {
			t.Errorf("%s: %+v", tt.name, o)
		}
	}
}

func TestPlanDiffers(t *testing.T) {
	status := func(digest, revision, guard string) *lkeplanv1alpha1.NodePlanStatus {
		return &lkeplanv1alpha1.NodePlanStatus{
			Plan:   &lkeplanv1alpha1.PlanSummary{Digest: digest, Revision: revision},
			Guards: []lkeplanv1alpha1.GuardStatus{{Status: guard}},
		}
	}
	after := status("sha256:1", "main@sha1:1", "blocked")
	for name, tt := range map[string]struct {
		before *lkeplanv1alpha1.NodePlanStatus
		want   bool
	}{
		"the first":                      {&lkeplanv1alpha1.NodePlanStatus{}, true},
		"the same":                       {status("sha256:1", "main@sha1:1", "blocked"), false},
		"other changes":                  {status("sha256:0", "main@sha1:1", "blocked"), true},
		"the same of another commit":     {status("sha256:1", "main@sha1:0", "blocked"), true},
		"one that is approved meanwhile": {status("sha256:1", "main@sha1:1", "allowed"), true},
	} {
		if got := planDiffers(tt.before, after); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
