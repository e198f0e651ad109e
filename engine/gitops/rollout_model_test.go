package gitops

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/rollout"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// attacks is how many worlds the model has; more of them find more.
var attacks = flag.Int("attacks", nightly.Or(5, 200), "worlds of TestRolloutModel")

// attacked is a world in which a revision proves itself, and everything happens meanwhile that
// may. Karpenter replaces as many nodes as the budgets let it, and begins with the next one
// after the wave was checked.
type attacked struct {
	*proving
	rng      *rand.Rand
	bad      bool           // nodes of the revision are never ready
	replaced map[string]int // nodes of a pool that were replaced before the revision was proven
	looked   bool
	weight   string // the value of a variable
	log      []string
}

func newAttacked(t *testing.T, seed uint64) *attacked {
	rng := rand.New(rand.NewPCG(seed, 11))
	spec := lkeplanv1alpha1.RolloutSpec{Nodes: 1, OnFailure: lkeplanv1alpha1.RolloutRollback}
	if rng.IntN(2) == 0 {
		spec.Canary = []string{"web"}
	}
	a := &attacked{proving: newProving(t, spec), rng: rng, bad: rng.IntN(2) == 0, replaced: map[string]int{}, weight: "5"}
	a.worker.Vars = func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) {
		return Variables{Vars: []config.Var{{Name: "weight", Value: a.weight}}}, nil
	}
	a.claims, a.nodes, a.np.Spec.Rollout = nil, nil, nil
	a.push("one")
	if o := a.reconcile(a.np); o.reason != lkeplanv1alpha1.ReasonSucceeded {
		t.Fatal(o.message)
	}
	a.np.Spec.Rollout = &spec
	for _, pool := range []string{"db", "web", "web", "db", "web", "web"} {
		a.node(pool)
	}
	a.push("two")
	return a
}

// push commits a revision in which all pools have a label, and a weight that is a variable.
func (a *attacked) push(label string) {
	text := "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nvariable \"weight\" {\n  type = number\n}\nnode_class \"c\" {}\n"
	for _, name := range []string{"db", "web"} {
		text += fmt.Sprintf("pool %q {\n  node_class = node_class.c\n  requirements = { cpu = 4 }\n  labels = { l = %q }\n"+
			"  weight = var.weight\n}\n", name, label)
	}
	a.commit(map[string]string{"a": text})
}

// label is that of a pool or node.
func (a *attacked) label(pool string) string {
	return manifest.Text(a.pool(pool), "spec", "template", "metadata", "labels", "l")
}

// karpenter replaces nodes.
func (a *attacked) karpenter() {
	for _, pool := range []string{"db", "web"} {
		live := a.pool(pool)
		typed := &karpv1.NodePool{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live, typed); err != nil {
			a.t.Fatal(err)
		}
		outdated, coming := -1, -1
		for i, c := range a.claims {
			if c.Labels[karpv1.NodePoolLabelKey] != pool {
				continue
			}
			if c.Annotations[karpv1.NodePoolHashAnnotationKey] != typed.Hash() {
				outdated = i
			} else if !a.ready(c.Name) {
				coming = i
			}
		}
		allowed := 1
		if rollout.HasWaveBudget(live) {
			_, err := fmt.Sscan(manifest.Text(live, "metadata", "annotations", rollout.Annotation), &allowed)
			if err != nil {
				a.t.Fatal(err)
			}
		}
		switch {
		case coming >= 0 && !(a.bad && a.label(pool) == "two") && a.rng.IntN(3) == 0:
			a.becomesReady(a.claims[coming].Name)
			if outdated >= 0 {
				if !a.proven() && a.label(pool) == "two" {
					a.replaced[pool]++
				}
				a.remove(outdated)
			}
		case coming < 0 && outdated >= 0 && allowed > 0 && a.looked:
			a.node(pool)
			a.nodes[len(a.nodes)-1].Status.Conditions[0].Status = corev1.ConditionFalse
		}
	}
	a.looked = false
}

func (a *attacked) ready(name string) bool {
	for _, n := range a.nodes {
		if n.Name == name {
			return n.Status.Conditions[0].Status == corev1.ConditionTrue
		}
	}
	return false
}

func (a *attacked) becomesReady(name string) {
	for i := range a.nodes {
		if a.nodes[i].Name == name {
			c := &a.nodes[i].Status.Conditions[0]
			c.Status, c.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(a.now)
		}
	}
}

func (a *attacked) remove(i int) {
	name := a.claims[i].Name
	a.claims = slices.Delete(slices.Clone(a.claims), i, i+1)
	a.nodes = slices.DeleteFunc(slices.Clone(a.nodes), func(n corev1.Node) bool { return n.Name == name })
}

func (a *attacked) proven() bool {
	s := a.np.Status.Rollout
	return s != nil && (s.Phase == lkeplanv1alpha1.PhaseProven || s.Phase == lkeplanv1alpha1.PhaseApplied)
}

// attack has something happen.
func (a *attacked) attack() {
	what := a.rng.IntN(24)
	switch what {
	case 0: // an old node goes
		for i, c := range a.claims {
			if c.Labels["l"] == "one" {
				a.remove(i)
				break
			}
		}
	case 1: // another leader, with another clock
		a.skew = time.Duration(a.rng.IntN(600)-300) * time.Minute
	case 2:
		a.np.Spec.Interval.Duration += time.Second
		a.np.Generation++
	case 3:
		a.np.Spec.Mode = map[string]string{"": lkeplanv1alpha1.ModePlanOnly}[a.np.Spec.Mode]
		a.np.Generation++
	case 4:
		err := a.worker.end(a.t.Context(), a.np.DeepCopy(), a.record(a.np))
		if err == nil {
			a.holds()
			a.again() // it takes its objects over again
		}
	case 5:
		a.ending(a.np, 1+a.rng.IntN(8))
	case 6: // the status is not written
		np := a.np.DeepCopy()
		a.worker.Work(a.t.Context(), np, func(context.Context) error { return errors.New("it has changed") })
	case 7:
		a.weight = fmt.Sprint(5 + a.rng.IntN(3))
	case 8:
		a.np.Spec.Rollout.Timeout = &metav1.Duration{Duration: time.Duration(10+a.rng.IntN(2)) * time.Minute}
		a.np.Generation++
	default:
		return
	}
	a.log = append(a.log, fmt.Sprintf("%s: %d", a.now.Format("15:04:05"), what))
}

func (a *attacked) fail(format string, args ...any) {
	a.t.Helper()
	a.t.Fatalf("%s\nbad: %v, web %q, db %q, rollout %+v\n%v", fmt.Sprintf(format, args...), a.bad, a.has("web"), a.has("db"),
		a.np.Status.Rollout, a.log)
}

// holds checks what is always true.
func (a *attacked) holds() {
	a.t.Helper()
	for _, pool := range []string{"db", "web"} {
		waits := slices.ContainsFunc(a.claims, func(c karpv1.NodeClaim) bool {
			return c.Labels[karpv1.NodePoolLabelKey] == pool && c.Labels["l"] == "one"
		})
		switch {
		case a.proven():
		case waits && a.label(pool) == "two" && !rollout.HasWaveBudget(a.pool(pool)):
			a.fail("pool %s has the revision, which is not proven, and no brake", pool)
		case a.replaced[pool] > 1:
			a.fail("%d nodes of %s are replaced", a.replaced[pool], pool)
		}
	}
	old := 0
	for _, c := range a.claims {
		if c.Labels["l"] == "one" {
			old++
		}
	}
	if a.bad && a.proven() && old > 0 {
		a.fail("a revision is proven of which no node is ready, and %d old nodes are there", old)
	}
}

// TestRolloutModel: no more nodes are replaced than the first wave has, the brake
// comes off when the revision is proven, and in the end all pools have one revision.
func TestRolloutModel(t *testing.T) {
	for seed := range uint64(*attacks) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := newAttacked(t, seed)
			for step := range 400 {
				a.now = a.now.Add(10 * time.Second)
				if step < 100 {
					a.attack()
				} else {
					a.np.Spec.Mode = ""
				}
				if a.again(); a.np.Spec.Mode == "" {
					a.looked = true
				}
				a.holds()
				a.karpenter()
				a.holds()
				if s := a.np.Status.Rollout; step > 100 && s != nil && (a.proven() ||
					s.Phase == lkeplanv1alpha1.PhaseRolledBack && a.has("web") == "one" && a.has("db") == "one") {
					break
				}
			}
			want := "two"
			if !a.proven() {
				want = "one"
			}
			if a.has("web") != want || a.has("db") != want {
				a.fail("in the end not all pools have %q", want)
			}
			if a.bad == a.proven() && len(a.claims) > 0 && a.claims[0].Labels["l"] == "one" {
				a.fail("it ended wrong")
			}
		})
	}
}
