package gitops

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lkeplan/lkeplan/engine/compile"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

type compiler struct {
	failed bool
	err    error
}

func (c compiler) Compile(context.Context, compile.Request) (compile.Answer, error) {
	return compile.Answer{Failed: c.failed}, c.err
}

// TestMetricsFollowTheStatus, and are gone with the NodePlan.
func TestMetricsFollowTheStatus(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	np := &lkeplanv1alpha1.NodePlan{}
	np.Namespace, np.Name = "fleet", "prod"
	np.Status.Plan = &lkeplanv1alpha1.PlanSummary{Update: 2, NodesRolled: 7}
	np.Status.Guards = []lkeplanv1alpha1.GuardStatus{{Guard: "protected", Status: "blocked"}, {Guard: "protected", Status: "blocked"}}
	np.Status.Pools = []lkeplanv1alpha1.PoolStatus{{Nodes: 5, Outdated: 3}, {Nodes: 4}}
	np.Status.Plan.CostCeiling = "1200.50"
	np.Spec.Interval.Duration = time.Hour
	m.SourceChecked("fleet", "prod", time.Unix(1000, 0))
	conditions.MarkFalse(np, meta.ReadyCondition, "ApprovalPending", "it waits")
	m.NodePlan(np)
	if ready, found := gathered(t, registry)["lkeplan_nodeplan_ready ApprovalPending"]; !found || ready != 0 {
		t.Error("what waits is said to be ready")
	}
	conditions.MarkTrue(np, meta.ReadyCondition, "ReconciliationSucceeded", "it is done")
	m.NodePlan(np)
	m.NodePlan(np)
	if _, found := gathered(t, registry)["lkeplan_nodeplan_ready ApprovalPending"]; found {
		t.Error("what is ready is said to wait")
	}
	for name, want := range map[string]float64{
		`lkeplan_nodeplan_plan_objects update`: 2, `lkeplan_nodeplan_plan_nodes roll`: 7,
		`lkeplan_nodeplan_guards protected blocked`: 2, `lkeplan_nodeplan_nodes outdated`: 3, `lkeplan_nodeplan_nodes current`: 6,
		`lkeplan_nodeplan_ready ReconciliationSucceeded`: 1, `lkeplan_nodeplan_cost_ceiling_dollars`: 1200.5,
		`lkeplan_nodeplan_source_checked_timestamp_seconds`: 1000, `lkeplan_nodeplan_interval_seconds`: 3600,
	} {
		if got := gathered(t, registry)[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	np.Spec.Suspend = true
	m.NodePlan(np)
	if _, found := gathered(t, registry)["lkeplan_nodeplan_interval_seconds"]; found {
		t.Error("a suspended NodePlan is expected to ask for its source")
	}
	m.Forget("fleet", "prod")
	if left := gathered(t, registry); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	for _, c := range []compiler{{}, {failed: true}, {err: errors.New("no memory")}} {
		_, _ = countedCompiler{c, m}.Compile(t.Context(), compile.Request{})
		_, _ = countedCompiler{c, nil}.Compile(t.Context(), compile.Request{})
	}
	m.Applied("created", time.Second)
	(*reconcilerMetrics)(nil).Applied("created", time.Second)
	got := gathered(t, registry)
	for _, name := range []string{"compile_duration_seconds compiled", "compile_duration_seconds errors",
		"compile_duration_seconds failed", "apply_duration_seconds created"} {
		if got["lkeplan_nodeplan_"+name] != 1 {
			t.Errorf("%s was counted %v times", name, got["lkeplan_nodeplan_"+name])
		}
	}
}

// gathered are the values of metrics by their names and labels without those of the
// NodePlan; of a histogram how often something was observed.
func gathered(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			name := []string{f.GetName()}
			for _, label := range metric.GetLabel() {
				if label.GetName() != "namespace" && label.GetName() != "name" {
					name = append(name, label.GetValue())
				}
			}
			values[strings.Join(name, " ")] = metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return values
}
