package inplace

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"

	"github.com/lkeplan/lkeplan/schemas"
)

var runs = flag.Int("runs", 500, "how many random sequences the model runs")

const (
	listed = "example.com/team" // in some lists
	never  = "example.com/tier" // in no list
)

// A fact is what the model knows of a claim: more than the claim records.
type fact struct {
	claim   *karpv1.NodeClaim
	node    *corev1.Node // nil until it has joined
	created *karpv1.NodePool

	joined     bool // the Node is registered
	everListed bool // the key was in the list since the claim was created, or in that of a leader with a stale cache
}

type world struct {
	t     *testing.T
	rng   *rand.Rand
	pools []*karpv1.NodePool // all versions; the last one is current
	facts []*fact
	trace []string
}

func (w *world) pool() *karpv1.NodePool { return w.pools[len(w.pools)-1] }

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func firstPool() *karpv1.NodePool {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	pool.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: "karpenter.k8s.linode",
		Kind: "LinodeNodeClass", Name: "default"}
	return pool
}

// commit changes any of the list, the values and a real field, in one write.
func (w *world) commit() {
	next := w.pool().DeepCopy()
	next.Annotations = maps.Clone(next.Annotations)
	if w.rng.IntN(3) == 0 {
		if inList(next) {
			delete(next.Annotations, schemas.AnnotationInPlace)
		} else {
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, schemas.AnnotationInPlace, listed)
		}
	}
	for key, odds := range map[string]int{listed: 2, never: 8} {
		for _, part := range []*map[string]string{&next.Spec.Template.Labels, &next.Spec.Template.Annotations} {
			if w.rng.IntN(odds) != 0 {
				continue
			}
			if *part == nil {
				*part = map[string]string{}
			}
			if (*part)[key] = string(rune('a' + w.rng.IntN(3))); w.rng.IntN(4) == 0 {
				delete(*part, key)
			}
			if len(*part) == 0 {
				*part = nil
			}
		}
	}
	if w.rng.IntN(6) == 0 {
		next.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "x", Value: string(rune('0' + w.rng.IntN(2))),
			Effect: corev1.TaintEffectNoSchedule}}
	}
	w.pools = append(w.pools, next)
	w.note("commit: list %t, labels %v, annotations %v, taints %v", inList(next), next.Spec.Template.Labels,
		next.Spec.Template.Annotations, next.Spec.Template.Spec.Taints)
	for _, f := range w.facts {
		f.everListed = f.everListed || inList(next)
	}
}

func inList(pool *karpv1.NodePool) bool { return pool.Annotations[schemas.AnnotationInPlace] != "" }

func valuesOf(pool *karpv1.NodePool, key string) string {
	label, hasLabel := pool.Spec.Template.Labels[key]
	annotation, hasAnnotation := pool.Spec.Template.Annotations[key]
	return fmt.Sprint(label, hasLabel, annotation, hasAnnotation)
}

// create makes a claim as Karpenter does, from the current or, with a stale cache, an earlier NodePool.
func (w *world) create() {
	pool := w.pools[max(0, len(w.pools)-1-w.rng.IntN(2))]
	claim := scheduling.NewNodeClaimTemplate(pool).NodeClaim.DeepCopy()
	claim.Name = fmt.Sprintf("c%d", len(w.facts))
	f := &fact{claim: claim, created: pool, everListed: inList(pool) || inList(w.pool())}
	w.facts = append(w.facts, f)
	w.note("%s created of version %d", claim.Name, slices.Index(w.pools, pool))
}

// join registers a Node as Karpenter does, from the current claim or, with a stale cache, from an earlier one.
func (w *world) join(f *fact) {
	if f.joined {
		return
	}
	if f.node == nil {
		f.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.claim.Name}}
	}
	f.node.Labels, f.node.Annotations = maps.Clone(f.claim.Labels), maps.Clone(f.claim.Annotations)
	f.joined = true
	w.note("%s joined", f.claim.Name)
}

// relabel carries out a part of what is decided for a claim: the process can end after each write. A leader with a
// stale cache decides for an earlier NodePool.
func (w *world) relabel(f *fact, pool *karpv1.NodePool, writes int) {
	var node *corev1.Node
	if f.joined {
		node = f.node
	}
	claim, changed := TemplateOf(pool).Next(f.claim, node)
	f.everListed = f.everListed || inList(pool)
	if claim != nil && writes > 0 {
		f.claim, writes = claim, writes-1
		w.note("%s written for version %d: %v", claim.Name, slices.Index(w.pools, pool), claim.Annotations)
	}
	if changed != nil && writes > 0 {
		f.node = changed
		w.note("node %s written: %v", changed.Name, changed.Labels)
	}
}

// check compares what Karpenter sees with what was created.
func (w *world) check() {
	w.t.Helper()
	pool := w.pool()
	of := TemplateOf(pool)
	for _, f := range w.facts {
		taints := fmt.Sprint(pool.Spec.Template.Spec.Taints) != fmt.Sprint(f.created.Spec.Template.Spec.Taints)
		others := valuesOf(pool, never) != valuesOf(f.created, never)
		value := valuesOf(pool, listed) != valuesOf(f.created, listed)
		drifted := of.Drifted(f.claim.Labels, f.claim.Annotations)
		switch {
		case (taints || others) && !drifted:
			w.fail("%s has not drifted, and a field differs that is not in place", f.claim.Name)
		case !taints && !others && (!value && !f.everListed || inList(pool)) && drifted:
			w.fail("%s has drifted, and only fields in place differ", f.claim.Name)
		case !taints && !others && value && !f.everListed && !drifted:
			w.fail("%s has not drifted, and its key was never in place", f.claim.Name)
		}
	}
}

// converge runs everything until nothing changes, and checks all values.
func (w *world) converge() {
	w.t.Helper()
	pool := w.pool()
	of := TemplateOf(pool)
	for _, f := range w.facts {
		w.join(f)
		for range 3 {
			w.relabel(f, pool, 2)
		}
		if claim, node := of.Next(f.claim, f.node); claim != nil || node != nil {
			w.fail("%s does not converge", f.claim.Name)
		}
		for name, pair := range map[string][2]map[string]string{
			"claim label": {f.claim.Labels, pool.Spec.Template.Labels}, "node label": {f.node.Labels, pool.Spec.Template.Labels},
			"claim annotation": {f.claim.Annotations, pool.Spec.Template.Annotations},
			"node annotation":  {f.node.Annotations, pool.Spec.Template.Annotations},
		} {
			is, ok := pair[0][listed]
			want, wanted := pair[1][listed]
			if inList(pool) && (is != want || ok != wanted) {
				w.fail("the %s of %s is %q %t, not %q %t", name, f.claim.Name, is, ok, want, wanted)
			}
		}
		if !of.Drifted(f.claim.Labels, f.claim.Annotations) &&
			f.claim.Annotations[karpv1.NodePoolHashAnnotationKey] != pool.Hash() {
			w.fail("%s has not drifted, and a program that compares the stamps sees drift", f.claim.Name)
		}
	}
	w.check()
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.trace, "\n"))
}

// TestNodesDriftOnlyForFieldsThatAreNotInPlace runs random sequences of commits, claims, registrations, writes of which
// only some are carried out, and a second leader with a stale cache.
func TestNodesDriftOnlyForFieldsThatAreNotInPlace(t *testing.T) {
	started := time.Now()
	for seed := range uint64(*runs) {
		w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 0)), pools: []*karpv1.NodePool{firstPool()}}
		w.note("seed %d", seed)
		for range 40 {
			switch w.rng.IntN(8) {
			case 0, 1:
				w.commit()
			case 2:
				w.create()
			case 3:
				if len(w.facts) > 0 {
					w.join(w.facts[w.rng.IntN(len(w.facts))])
				}
			case 4, 5, 6:
				if len(w.facts) > 0 {
					w.relabel(w.facts[w.rng.IntN(len(w.facts))], w.pool(), w.rng.IntN(3))
				}
			default:
				if len(w.facts) > 0 {
					stale := w.pools[max(0, len(w.pools)-1-w.rng.IntN(3))]
					w.relabel(w.facts[w.rng.IntN(len(w.facts))], stale, w.rng.IntN(3))
				}
			}
			w.check()
		}
		w.converge()
	}
	t.Logf("%d sequences in %s", *runs, time.Since(started))
}
