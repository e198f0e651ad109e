package nodeplan

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// condition is one of a NodePlan.
func condition(name, status, reason, message string) metav1.Condition {
	return metav1.Condition{Type: name, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
}

// nodePlan is one of generation 2, which the controller has observed.
func nodePlan(name string, conditions ...metav1.Condition) *lkeplanv1alpha1.NodePlan {
	np := &lkeplanv1alpha1.NodePlan{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name, Generation: 2}}
	np.Status.ObservedGeneration, np.Status.Conditions = 2, conditions
	return np
}

func TestTheStateOfANodePlan(t *testing.T) {
	ready := condition("Ready", "True", lkeplanv1alpha1.ReasonSucceeded, "")
	refused := condition("Ready", "False", lkeplanv1alpha1.ReasonGuarded, "")
	broken := condition("Ready", "False", lkeplanv1alpha1.ReasonCompileFailed, "")
	stalled := condition("Stalled", "True", "", "")
	proving := condition("Ready", "Unknown", lkeplanv1alpha1.ReasonProving, "")
	held := condition("Ready", "False", lkeplanv1alpha1.ReasonHeld, "")
	back := condition("Ready", "False", lkeplanv1alpha1.ReasonRolledBack, "")
	for want, np := range map[string]*lkeplanv1alpha1.NodePlan{
		Ready: nodePlan("a", ready), Waiting: nodePlan("a", refused, stalled), Stalled: nodePlan("a", broken, stalled),
		Proving: nodePlan("a", proving), Held: nodePlan("a", held, stalled), Restored: nodePlan("a", back, stalled),
		Failing: nodePlan("a", broken), Working: nodePlan("a", condition("Ready", "Unknown", "", "")),
	} {
		if got := State(np); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		np.Generation = 3
		if got := State(np); got != Working {
			t.Errorf("%s of an earlier generation: %s", want, got)
		}
		np.Spec.Suspend = true
		if got := State(np); got != Suspended {
			t.Errorf("%s and suspended: %s", want, got)
		}
		np.DeletionTimestamp = &metav1.Time{}
		if got := State(np); got != Deleted && (want != Waiting || got != "being deleted, waits for approval") {
			t.Errorf("%s and deleted: %s", want, got)
		}
	}
	if got := State(nodePlan("a")); got != Working {
		t.Errorf("a new one: %s", got)
	}
}

// seen is a cluster whose NodePlans report one state after another.
type seen struct {
	Cluster
	plans   []*lkeplanv1alpha1.NodePlan // the last one from then on
	asked   int
	listed  []string
	changed []map[string]any
}

func (s *seen) Get(context.Context, map[string]any) (map[string]any, error) {
	if len(s.plans) == 0 {
		return nil, nil
	}
	np := s.plans[min(s.asked, len(s.plans)-1)]
	s.asked++
	return runtime.DefaultUnstructuredConverter.ToUnstructured(np)
}

func (s *seen) ListIn(context.Context, string, string, string) (objects []map[string]any, err error) {
	for _, name := range s.listed {
		obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(nodePlan(name))
		if err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

func (s *seen) MergeStatus(_ context.Context, _, change map[string]any, _ string) error {
	s.changed = append(s.changed, change)
	return nil
}

var prod = types.NamespacedName{Namespace: "fleet", Name: "prod"}

// TestAwaitReportsProgress: each message once, until the requested reconciliation
// has ended.
func TestAwaitReportsProgress(t *testing.T) {
	handled := func(np *lkeplanv1alpha1.NodePlan) *lkeplanv1alpha1.NodePlan {
		np.Status.LastHandledReconcileAt = "token"
		return np
	}
	ready := condition("Ready", "True", lkeplanv1alpha1.ReasonSucceeded, "Applied revision: main@sha1:1")
	working := condition("Reconciling", "True", meta.ProgressingReason, "reconciliation in progress")
	old := nodePlan("prod", ready)
	c := &seen{plans: []*lkeplanv1alpha1.NodePlan{
		old, old, handled(nodePlan("prod", ready, working)), handled(nodePlan("prod", ready, working)),
		handled(nodePlan("prod", condition("Ready", "Unknown", "Condemned", "3 of 20 nodes are left"))),
		handled(nodePlan("prod", condition("Ready", "Unknown", "Condemned", "1 of 20 nodes are left"))),
		handled(nodePlan("prod", condition("Ready", "False", lkeplanv1alpha1.ReasonApplyFailed, "no"),
			condition("Reconciling", "True", meta.ProgressingWithRetryReason, "no"))),
	}}
	synctest.Test(t, func(t *testing.T) {
		var said []string
		np, err := Await(t.Context(), c, prod, "token", func(what string) { said = append(said, what) })
		if err != nil || State(np) != Failing {
			t.Errorf("%+v, %v", np, err)
		}
		want := []string{"the controller has not seen it yet", "reconciliation in progress", "3 of 20 nodes are left",
			"1 of 20 nodes are left"}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("it reported (-want +got):\n%s", diff)
		}
	})
}

// TestAwaitEndsIfTheNodePlanWaits: a window may be days away.
func TestAwaitEndsIfTheNodePlanWaits(t *testing.T) {
	waits := nodePlan("prod", condition("Ready", "Unknown", lkeplanv1alpha1.ReasonOutsideWindow, "waits until Wednesday"))
	waits.Status.LastHandledReconcileAt = "token"
	np, err := Await(t.Context(), &seen{plans: []*lkeplanv1alpha1.NodePlan{waits}}, prod, "token", func(string) {})
	if err != nil || Message(np) != "waits until Wednesday" {
		t.Errorf("%+v, %v", np, err)
	}
}

func TestAwaitTimeoutShowsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c := &seen{plans: []*lkeplanv1alpha1.NodePlan{nodePlan("prod")}}
		_, err := Await(ctx, c, prod, "token", func(string) {})
		if err == nil || !strings.Contains(err.Error(), "timed out waiting for NodePlan fleet/prod") ||
			!strings.Contains(err.Error(), "the controller has not seen it yet") {
			t.Error(err)
		}
	})
}

func TestMissingNodePlan(t *testing.T) {
	for _, tt := range []struct {
		listed []string
		want   string
	}{
		{nil, "there is no NodePlan fleet/prod, and no other in the namespace fleet"},
		{[]string{"prd", "dev"}, `there is no NodePlan fleet/prod; the namespace fleet has dev, prd. Did you mean "prd"?`},
	} {
		if _, err := Get(t.Context(), &seen{listed: tt.listed}, prod); fmt.Sprint(err) != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestWhereAPlanIsApproved: that of a pull request for the NodePlan that applies it.
func TestWhereAPlanIsApproved(t *testing.T) {
	planOnly := func(to *lkeplanv1alpha1.NamespacedReference) *lkeplanv1alpha1.NodePlan {
		np := nodePlan("pr-7")
		np.Spec.Mode, np.Spec.PlanFor = lkeplanv1alpha1.ModePlanOnly, to
		return np
	}
	for _, tt := range []struct {
		np        *lkeplanv1alpha1.NodePlan
		want, err string
	}{
		{nodePlan("prod"), "fleet/prod", ""},
		{planOnly(&lkeplanv1alpha1.NamespacedReference{Name: "prod"}), "fleet/prod", ""},
		{planOnly(&lkeplanv1alpha1.NamespacedReference{Name: "prod", Namespace: "other"}), "other/prod", ""},
		{planOnly(nil), "", "NodePlan fleet/pr-7 only plans"},
	} {
		got, err := Applies(tt.np)
		if tt.err == "" && (err != nil || got.String() != tt.want) ||
			tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s, %v; want %s %s", got, err, tt.want, tt.err)
		}
	}
}

// TestAnApprovalIsTheOnlyChangeOfTheStatus: the policy for approvals allows no other.
func TestAnApprovalIsTheOnlyChangeOfTheStatus(t *testing.T) {
	c := &seen{}
	a := &lkeplanv1alpha1.Approval{
		PlanDigest: "sha256:1", Guards: []string{"freeze:weekend"}, By: "jane",
		Expires: metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)),
	}
	for _, approval := range []*lkeplanv1alpha1.Approval{a, nil} {
		if err := Approve(t.Context(), c, prod, approval); err != nil {
			t.Fatal(err)
		}
	}
	type fields = map[string]any
	want := []fields{
		{"status": fields{"approval": fields{"planDigest": "sha256:1", "guards": []any{"freeze:weekend"}, "maxNodes": int64(0),
			"expires": "2026-11-20T12:00:00Z", "by": "jane", "reason": ""}}}, // that of an earlier one does not stay
		{"status": fields{"approval": nil}},
	}
	if diff := cmp.Diff(want, c.changed); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// sources is a cluster with ConfigMaps.
type sources struct {
	Cluster
	data map[string]map[string]any
}

func (s sources) Get(_ context.Context, like map[string]any) (map[string]any, error) {
	if data, ok := s.data[manifest.Name(like)]; ok {
		return map[string]any{"data": data}, nil
	}
	return nil, nil
}

// TestValuesOfANodePlan: later ones take precedence, those of the spec over all, and Secrets are not read.
func TestValuesOfANodePlan(t *testing.T) {
	c := sources{data: map[string]map[string]any{"a": {"x": "1", "y": "1", "z": "1"}, "b": {"y": "2", "z": "2"}}}
	np := nodePlan("prod")
	from := func(kind, name string, optional bool) lkeplanv1alpha1.VariablesReference {
		return lkeplanv1alpha1.VariablesReference{Kind: kind, Name: name, Optional: optional}
	}
	np.Spec.VariablesFrom = []lkeplanv1alpha1.VariablesReference{
		from("ConfigMap", "a", false), from("ConfigMap", "b", false), from("Secret", "s", false), from("ConfigMap", "none", true),
	}
	np.Spec.Variables = map[string]apiextensionsv1.JSON{
		"z": {Raw: []byte(`"text"`)}, "list": {Raw: []byte(`["a"]`)},
	}
	vars, secrets, err := Variables(t.Context(), c, np)
	if diff := cmp.Diff([]string{`list=["a"]`, "x=1", "y=2", "z=text"}, vars); diff != "" || err != nil {
		t.Errorf("%v; values (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"s"}, secrets); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
	np.Spec.VariablesFrom[3].Optional = false
	if _, _, err := Variables(t.Context(), c, np); err == nil || !strings.Contains(err.Error(), "which NodePlan fleet/prod takes variables from") {
		t.Error(err)
	}
}
