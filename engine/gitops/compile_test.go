package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// recorded is a record of some files, which Load writes down.
type recorded struct {
	path  string
	files map[string]string // nil: nothing was applied yet
}

func (r recorded) Load(_ context.Context, _ *lkeplanv1alpha1.NodePlan, dir string) (string, bool, error) {
	return r.path, r.files != nil, write(dir, r.files)
}

func (recorded) Store(context.Context, *lkeplanv1alpha1.NodePlan, string) error { return nil }

func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// asks is a compiler that counts what it is asked, and answers always the same.
type asks struct {
	answer compile.Answer
	plans  int // that policies were asked about
	others int
}

func (a *asks) Compile(_ context.Context, req compile.Request) (compile.Answer, error) {
	if req.Plan != nil {
		a.plans++
		return compile.Answer{Verdicts: []plan.Verdict{{Guard: "policy.few", Status: plan.Blocked}}}, nil
	}
	a.others++
	return a.answer, nil
}

// TestTheGuardsAreOfWhatWasLastApplied: and that is compiled only where it differs
// from the new revision.
func TestTheGuardsAreOfWhatWasLastApplied(t *testing.T) {
	const old, head = 1, 2 // deleted pools that the guards allow
	files := map[string]string{"fleet/main.lke.hcl": "pool \"a\" {}", "modules/m.lke.hcl": "pool \"b\" {}"}
	with := func(name, text string) map[string]string {
		changed := map[string]string{name: text}
		for n, t := range files {
			if n != name {
				changed[n] = t
			}
		}
		return changed
	}
	tests := map[string]struct {
		record   recorded
		cpus     string // the value of a variable, which is 4 for the new revision
		compiles int
		allows   int
	}{
		"nothing was applied yet":   {recorded{}, "4", 0, head},
		"the same":                  {recorded{"./fleet", files}, "4", 0, head},
		"the same but for a README": {recorded{"fleet", with("README.md", "new")}, "4", 0, head},
		"another path":              {recorded{"modules", files}, "4", 1, old},
		"another text in a module":  {recorded{"fleet", with("modules/m.lke.hcl", "pool \"c\" {}")}, "4", 1, old},
		"a file more":               {recorded{"fleet", with("fleet/more.lke.hcl", "pool \"c\" {}")}, "4", 1, old},
		"another value":             {recorded{"fleet", files}, "8", 1, old},
	}
	cpus := func(n string) []config.Var { return []config.Var{{Name: "cpus", Value: n}} }
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := write(root, files); err != nil {
				t.Fatal(err)
			}
			compiler := &asks{answer: compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: config.Guards{MaxDeletedPools: old}}}}}
			w := &Worker{Compiler: compiler, Records: tt.record}
			of := compiled{
				Answer:  compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: config.Guards{MaxDeletedPools: head}}}},
				request: compile.Request{Root: root, Dir: "fleet", Vars: cpus("4")},
			}
			to := target{&lkeplanv1alpha1.NodePlan{}, Variables{Vars: cpus(tt.cpus)}}
			base, err := w.base(t.Context(), to, t.TempDir(), of)
			if err != nil || compiler.others != tt.compiles || base.Guards.MaxDeletedPools != tt.allows {
				t.Errorf("%d compilations, want %d; %d deleted pools are allowed, want %d; %v",
					compiler.others, tt.compiles, base.Guards.MaxDeletedPools, tt.allows, err)
			}
		})
	}
}

func TestPoliciesAreAskedWhereThereAreAny(t *testing.T) {
	for policies, want := range []int{0, 1} {
		compiler := &asks{}
		w, p := &Worker{Compiler: compiler}, &judged{}
		rev := &revision{target: target{NodePlan: &lkeplanv1alpha1.NodePlan{}}}
		rev.base.PolicyCount = policies
		p.Plan.Current = new(catalog.Money)
		if err := w.judge(t.Context(), rev, p); err != nil {
			t.Fatal(err)
		}
		if compiler.plans != want || p.Plan.Refused() != (want > 0) {
			t.Errorf("%d policies: asked %d times, refused: %v", policies, compiler.plans, p.Plan.Refused())
		}
	}
}

// TestAChangeWaitsWhileWhatWasLastAppliedCannotBeRead: otherwise a commit that removes
// a value that the last applied guards need would be judged by its own guards.
func TestAChangeWaitsWhileWhatWasLastAppliedCannotBeRead(t *testing.T) {
	change := plan.Change{Kind: "NodePool", Name: "web", Action: plan.Delete}
	for name, tt := range map[string]struct {
		failed  bool
		changes []plan.Change
		refused bool
	}{
		"it can be read":  {false, []plan.Change{change}, false},
		"it cannot":       {true, []plan.Change{change}, true},
		"nothing changes": {true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			guards := config.Guards{MaxDeletedPools: 9}
			w := &Worker{
				Compiler: &asks{answer: compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: guards}}, Failed: tt.failed}},
				Records:  recorded{"", map[string]string{"old.lke.hcl": ""}},
			}
			head := compiled{
				Answer:  compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: guards}}},
				request: compile.Request{Root: t.TempDir(), Dir: "."},
			}
			rev := &revision{target: target{NodePlan: &lkeplanv1alpha1.NodePlan{}}}
			var err error
			if rev.base, err = w.base(t.Context(), rev.target, t.TempDir(), head); err != nil {
				t.Fatal(err)
			}
			p := &judged{}
			p.Plan.Current, p.Plan.Changes = new(catalog.Money), tt.changes
			if err := w.judge(t.Context(), rev, p); err != nil {
				t.Fatal(err)
			}
			if p.Plan.Refused() != tt.refused {
				t.Errorf("refused: %v, want %v: %+v", p.Plan.Refused(), tt.refused, p.Plan.Verdicts)
			}
		})
	}
}

// hanging is a compiler that answers when its channel says so.
type hanging struct{ begun, answer chan struct{} }

func (h hanging) Compile(context.Context, compile.Request) (compile.Answer, error) {
	h.begun <- struct{}{}
	<-h.answer
	return compile.Answer{}, nil
}

func TestCompilationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hanging{make(chan struct{}, 9), make(chan struct{})}
		turns := takeTurns(h, 2)
		ctx, cancel := context.WithCancel(t.Context())
		ends := make(chan error, 3)
		for range 3 {
			go func() {
				_, err := turns.Compile(ctx, compile.Request{})
				ends <- err
			}()
		}
		synctest.Wait()
		if len(h.begun) != 2 {
			t.Errorf("%d compilations have begun, want 2", len(h.begun))
		}
		cancel()
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Errorf("the compilation that waits for a turn ends with %v, want %v", err, context.Canceled)
		}
		close(h.answer)
		if err := errors.Join(<-ends, <-ends); err != nil {
			t.Error(err)
		}
	})
}
