package gitops

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/trace"
	"github.com/lkeplan/lkeplan/engine/trace/tracetest"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// faulty is a compiler that fails while there is an error.
type faulty struct {
	Compiler
	err error
}

func (f *faulty) Compile(ctx context.Context, req compile.Request) (compile.Answer, error) {
	if f.err != nil {
		return compile.Answer{}, f.err
	}
	return f.Compiler.Compile(ctx, req)
}

// TestTraceOfRevision: each step is there, in what it is part of, and
// the one that failed says why. What says nothing new is left out.
func TestTraceOfRevision(t *testing.T) {
	w, sink := newWorld(t), &tracetest.Sink{T: t}
	compiler := &faulty{Compiler: w}
	w.worker.Memory = &appliedMemory{}
	w.worker.Sources, w.worker.Compiler = countedSource{Next: w}, countedCompiler{Next: compiler}
	w.worker.Connect = func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return countedCluster{w, nil}, nil }
	w.worker.Vars = func(ctx context.Context, _ *lkeplanv1alpha1.NodePlan) (Variables, error) {
		trace.Hide(ctx, []string{"hunter22"})
		return Variables{Secrets: []string{"hunter22"}}, nil
	}
	r := &Reconciler{Worker: w.worker, EventRecorder: &recorder{}, Traces: newTraces(sink, w.worker.Cache)}
	np := w.plan("fleet", "a", "fleet")
	reconcile := func() {
		if _, err := r.reconcile(t.Context(), np, recordNothing); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string, ids ...trace.ID) {
		t.Helper()
		got, taken := sink.Taken()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want -, got +\n%s", diff)
		}
		if !slices.Equal(ids, taken) {
			t.Errorf("the ids are %x, want %x", taken, ids)
		}
	}
	first, second := trace.OfRevision(string(np.UID), "main@sha1:0"), trace.OfRevision(string(np.UID), "main@sha1:1")

	w.commit(map[string]string{"a": pools("a", "web")})
	reconcile()
	check(`nodeplan.reconcile nodeplan=fleet/a revision=main@sha1:0 reason=ReconciliationSucceeded
  nodeplan.find
  nodeplan.fetch
  nodeplan.compile of=revision
  nodeplan.plan
    nodeplan.judge
  nodeplan.apply
    nodeplan.apply.object object=LinodeNodeClass a outcome=created
    nodeplan.apply.object object=NodePool web outcome=created`, first)
	reconcile()
	check("")

	compiler.err = errors.New("no memory for hunter22")
	w.commit(map[string]string{"a": pools("a", "web") + "# hunter22"})
	reconcile()
	check(`nodeplan.reconcile nodeplan=fleet/a revision=main@sha1:1 reason=CompileFailed ! compile revision main@sha1:1: no memory for ***
  nodeplan.find
  nodeplan.fetch
  nodeplan.compile of=revision ! no memory for ***`, second)
	reconcile()
	check("")
	compiler.err = nil
	reconcile()
	check(`nodeplan.pending nodeplan=fleet/a reason=CompileFailed
nodeplan.reconcile nodeplan=fleet/a revision=main@sha1:1 reason=ReconciliationSucceeded
  nodeplan.find
  nodeplan.fetch
  nodeplan.compile of=revision
  nodeplan.compile of=last applied
  nodeplan.plan
    nodeplan.judge
  nodeplan.apply`, second, second)
}

// TestNoTraceWithoutSink: the steps of a reconciliation find no work that they are
// part of.
func TestNoTraceWithoutSink(t *testing.T) {
	w := newWorld(t)
	r := &Reconciler{Worker: w.worker, EventRecorder: &recorder{}, Traces: newTraces(nil, nil)}
	ctx, work := r.Traces.Begin(t.Context())
	if work != nil || ctx != t.Context() {
		t.Errorf("work is begun: %v", work)
	}
	w.commit(map[string]string{"a": pools("a", "web")})
	if _, err := r.reconcile(t.Context(), w.plan("fleet", "a", "fleet"), recordNothing); err != nil {
		t.Error(err)
	}
}
