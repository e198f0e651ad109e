package gitops

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/fetch"
	"github.com/lkeplan/lkeplan/engine/plan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// inTurn is a compiler that does so many compilations at a time: each may take
// all the memory that a process gets. NodePlans that wait for the API server or
// for a fetch take no turn.
type inTurn struct {
	Compiler
	turns chan struct{}
}

func takeTurns(c Compiler, most int) inTurn { return inTurn{c, make(chan struct{}, most)} }

// Compile implements Compiler.
func (t inTurn) Compile(ctx context.Context, req compile.Request) (compile.Answer, error) {
	select {
	case t.turns <- struct{}{}:
	case <-ctx.Done():
		return compile.Answer{}, ctx.Err()
	}
	defer func() { <-t.turns }()
	return t.Compiler.Compile(ctx, req)
}

// compile compiles what was fetched, and refuses what is not for this cluster.
func (w *Worker) compile(ctx context.Context, np *lkeplanv1alpha1.NodePlan, req compile.Request) (compile.Answer, outcome, bool) {
	result, err := w.Compiler.Compile(ctx, req)
	revision := np.Status.LastAttemptedRevision
	switch {
	case errors.Is(err, compile.ErrTimeout), errors.Is(err, compile.ErrMemory):
		return result, stalled(lkeplanv1alpha1.ReasonCompileFailed, "revision %s is not applied: %v", revision, err), true
	case err != nil:
		return result, failed(lkeplanv1alpha1.ReasonCompileFailed, "compile revision %s: %v", revision, err), true
	case result.Failed:
		return result, stalled(lkeplanv1alpha1.ReasonCompileFailed, "revision %s is not applied, what was applied before stays:\n%s", revision, strings.Join(result.Errors(), "\n")), true
	case result.Cluster.Name != w.Cluster:
		return result, stalled(lkeplanv1alpha1.ReasonWrongCluster, "revision %s is not applied: it is for the cluster %q, and this is %q", revision, result.Cluster.Name, w.Cluster), true
	}
	return result, outcome{}, false
}

// within is a path that leads nowhere out of the directory that it is in.
func within(path string) string {
	if clean := strings.TrimPrefix(filepath.ToSlash(filepath.Clean("/"+path)), "/"); clean != "" {
		return clean
	}
	return "."
}

// based is a source whose guards and policies hold, and how to ask them.
type based struct {
	compile.Answer
	ask    compile.Request
	unread string // why what is in force could not be asked in its place
}

// readable refuses a change while what is in force cannot be compiled with the
// variables as they are now. One commit could change them, and by that be the
// first that is held to its own guards.
func (b based) readable(p plan.Plan) []plan.Verdict {
	if b.unread == "" || p.Empty() {
		return nil
	}
	return []plan.Verdict{{
		Guard: "in_force", Status: plan.Blocked,
		Detail: "The guards in force cannot be read with the variables as they are now. Take a value away only when nothing in force asks for it any more. " + b.unread,
	}}
}

// base compiles what is in force, with the variables that it has, for its guards
// and policies. Where nothing is in force yet, those of the new revision hold.
func (w *Worker) base(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string, head based, vars Variables) (based, outcome, bool) {
	path, known, err := w.Records.Load(ctx, np, dir)
	if err != nil {
		return based{}, failed(lkeplanv1alpha1.ReasonApplyFailed, "read what is in force: %v", err), true
	}
	if !known {
		return head, outcome{}, false
	}
	req := compile.Request{Root: dir, Dir: within(path), Vars: vars.Vars, IgnoreUndeclared: true}
	unchanged, err := same(req, head.ask)
	if err != nil {
		return based{}, failed(lkeplanv1alpha1.ReasonApplyFailed, "read what is in force: %v", err), true
	}
	if unchanged {
		return head, outcome{}, false
	}
	result, err := w.Compiler.Compile(ctx, req)
	if err != nil {
		// Without it a revision could lift the guards that hold for itself.
		return based{}, failed(lkeplanv1alpha1.ReasonCompileFailed, "compile what is in force: %v", err), true
	}
	if result.Failed {
		// It was fine when it was applied; its variables are not what they were.
		head.unread = strings.Join(append([]string{"It has errors now:"}, result.Errors()...), "\n")
		return head, outcome{}, false
	}
	return based{Answer: result, ask: req}, outcome{}, false
}

// same reports whether two requests are about the same directory of the same
// files, of those that a configuration can read, with the same variables.
func same(a, b compile.Request) (bool, error) {
	if a.Dir != b.Dir || !slices.Equal(a.Vars, b.Vars) {
		return false, nil
	}
	files, err := fetch.Hashes(a.Root)
	if err != nil {
		return false, err
	}
	others, err := fetch.Hashes(b.Root)
	return maps.Equal(files, others), err
}
