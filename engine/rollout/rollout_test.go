package rollout_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/rollout"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// story is a rollout at some moments since it began.
type story struct {
	Spec    lkeplanv1alpha1.RolloutSpec
	Rest    bool // there are other pools, which follow
	Moments []struct {
		At    metav1.Duration
		Pools []struct {
			Name                                       string
			Outdated, Held, Lost                       int
			Hold, NoStock, Refused, Blocked, Unhealthy string
			Nodes                                      []string // a state, and for how long it is ready: ready 90s
		}
	}
}

var states = map[string]cluster.NodeState{
	"asked": cluster.NodeRequested, "joining": cluster.NodeJoining, "unready": cluster.NodeNotReady, "ready": cluster.NodeReady,
}

// TestStories decides at each moment of each story, and again and again before it, with the
// state that the decision before has left.
func TestStories(t *testing.T) {
	golden.Archives(t, "testdata/decide", func(files fstest.MapFS) map[string]string {
		var s story
		if err := yaml.UnmarshalStrict(files["story.yaml"].Data, &s); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		status := &lkeplanv1alpha1.RolloutStatus{}
		for _, m := range s.Moments {
			var pools []rollout.Pool
			for i, p := range m.Pools {
				if len(status.Pools) == i {
					status.Pools = append(status.Pools, lkeplanv1alpha1.RolloutPool{Name: p.Name})
				}
				pool := rollout.Pool{
					Name: p.Name, Outdated: p.Outdated, Held: p.Held, Hold: p.Hold, Lost: p.Lost,
					NoStock: p.NoStock, Refused: p.Refused, Blocked: p.Blocked, Unhealthy: p.Unhealthy,
				}
				for n, text := range p.Nodes {
					state, since, _ := strings.Cut(text, " ")
					ago, err := time.ParseDuration(since)
					if known, ok := states[state]; ok && (err == nil || since == "") {
						pool.New = append(pool.New, rollout.Node{Name: fmt.Sprintf("%s-%d", p.Name, n), State: known, For: ago})
						continue
					}
					t.Fatalf("a node that is %q", text)
				}
				pools = append(pools, pool)
			}
			var d rollout.Decision
			for first := true; first || status.Ran.Duration < m.At.Duration; first = false { // repeated checks
				passed := min(5*time.Second, m.At.Duration-status.Ran.Duration)
				status.Ran.Duration += passed
				for i := range pools {
					status.Pools[i].Waited.Duration += passed
					pools[i].Waited = status.Pools[i].Waited.Duration
				}
				d = rollout.Decide(rollout.TermsOf(s.Spec), !s.Rest, status.Ran.Duration, pools)
				rollout.RestartExcused(status, d)
			}
			step := map[rollout.Step]string{rollout.Wait: "wait", rollout.Proven: "proven", rollout.Failed: "failed"}[d.Step]
			fmt.Fprintf(&out, "%s: %s", m.At.Duration, step)
			for _, name := range slices.Sorted(maps.Keys(d.Room)) {
				fmt.Fprintf(&out, ", room for %d of %s", d.Room[name], name)
			}
			if d.RequeueAfter > 0 {
				fmt.Fprintf(&out, ", again in %s", d.RequeueAfter)
			}
			out.WriteString("\n")
			for _, line := range d.Words {
				out.WriteString("    " + line + "\n")
			}
		}
		return map[string]string{"want.txt": out.String()}
	})
}

// TestTermsAreBounded, also where the CRD does not bound them.
func TestTermsAreBounded(t *testing.T) {
	year := &metav1.Duration{Duration: 365 * 24 * time.Hour}
	got := rollout.TermsOf(lkeplanv1alpha1.RolloutSpec{Nodes: -3, Stable: year, Timeout: year})
	if got.Nodes != 1 || got.Stable != time.Hour || got.Timeout != 24*time.Hour || got.Rollback {
		t.Errorf("%+v", got)
	}
	if got := rollout.TermsOf(lkeplanv1alpha1.RolloutSpec{}); got.Nodes != 1 || got.Stable != 2*time.Minute || got.Timeout != 15*time.Minute {
		t.Errorf("the defaults are %+v", got)
	}
}
