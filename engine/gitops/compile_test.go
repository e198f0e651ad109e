package gitops

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// recorded is a record of some files, which Load writes down.
type recorded struct {
	none
	path    string
	vars    []lkeplanv1alpha1.RecordedVariable
	files   map[string]string // nil: nothing was applied yet
	missing string
}

func (r recorded) Load(_ context.Context, _ *lkeplanv1alpha1.NodePlan, dir string) (appliedRecord, error) {
	if r.files == nil {
		return appliedRecord{Missing: r.missing}, nil
	}
	if err := write(dir, r.files); err != nil {
		return appliedRecord{}, err
	}
	files, err := isolate.PickAll(dir)
	if err != nil {
		return appliedRecord{}, err
	}
	digest, err := files.Digest(r.path)
	return appliedRecord{Path: r.path, Digest: digest, Missing: r.missing, Variables: r.vars}, err
}

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

// TestLastAppliedGuardsEvaluateRevision: and that is compiled only where it differs
// from the new revision.
func TestLastAppliedGuardsEvaluateRevision(t *testing.T) {
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
		cpus     string // the value of a variable that it was applied with, which is 4 for the new revision
		compiles int
		allows   int
	}{
		"nothing was applied yet":  {recorded{}, "4", 0, head},
		"the same":                 {recorded{path: "fleet", files: files}, "4", 0, head},
		"another path":             {recorded{path: "modules", files: files}, "4", 1, old},
		"another text in a module": {recorded{path: "fleet", files: with("modules/m.lke.hcl", "pool \"c\" {}")}, "4", 1, old},
		"a file more":              {recorded{path: "fleet", files: with("fleet/more.lke.hcl", "pool \"c\" {}")}, "4", 1, old},
		"another value":            {recorded{path: "fleet", files: files}, "8", 1, old},
	}
	cpus := func(n string) []config.Var { return []config.Var{{Name: "cpus", Value: n}} }
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := write(root, files); err != nil {
				t.Fatal(err)
			}
			compiler := &asks{answer: compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: config.Guards{MaxDeletedPools: old}}}}}
			tt.record.vars = []lkeplanv1alpha1.RecordedVariable{{Name: "cpus", Value: tt.cpus}}
			w := &Worker{Compiler: compiler, Records: tt.record}
			of := compiled{
				Answer:  compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: config.Guards{MaxDeletedPools: head}}}},
				request: compile.Request{Root: root, Dir: "fleet", Vars: cpus("4")},
			}
			of.Read = slices.Collect(maps.Keys(files))
			if err := os.WriteFile(filepath.Join(root, "README.txt"), nil, 0o600); err != nil { // which nothing reads
				t.Fatal(err)
			}
			to := target{&lkeplanv1alpha1.NodePlan{}, Variables{Vars: cpus("4")}}
			base, err := w.base(t.Context(), to, t.TempDir(), of)
			if err != nil || compiler.others != tt.compiles || base.Guards.MaxDeletedPools != tt.allows {
				t.Errorf("%d compilations, want %d; %d deleted pools are allowed, want %d; %v",
					compiler.others, tt.compiles, base.Guards.MaxDeletedPools, tt.allows, err)
			}
		})
	}
}

func TestPoliciesAreEvaluatedOnlyIfDeclared(t *testing.T) {
	for policies, want := range []int{0, 1} {
		compiler := &asks{}
		w, p := &Worker{Compiler: compiler, Cache: nothing{}, Now: time.Now}, &judged{}
		rev := &candidate{revision: revision{target: target{NodePlan: &lkeplanv1alpha1.NodePlan{}}}}
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

// TestChangeWaitsWhileLastAppliedIsUnknown: otherwise a user who can delete it
// or a commit that removes a value that it needs, would have the next change judged
// by its own guards.
func TestChangeWaitsWhileLastAppliedIsUnknown(t *testing.T) {
	files := map[string]string{"old.lke.hcl": ""}
	create := plan.Change{Kind: "NodePool", Name: "api", Action: plan.Create}
	change := plan.Change{Kind: "NodePool", Name: "web", Action: plan.Delete, Impact: &plan.Impact{Known: true}} // it has no nodes
	for name, tt := range map[string]struct {
		record  recorded
		failed  bool
		changes []plan.Change
		ours    bool
		refused bool
	}{
		"it is known":                   {recorded{files: files}, false, []plan.Change{change}, true, false},
		"it does not compile":           {recorded{files: files}, true, []plan.Change{change}, true, true},
		"nothing changes":               {recorded{files: files}, true, nil, true, false},
		"its record is missing":         {recorded{missing: "There is no record of the last applied revision."}, false, []plan.Change{change}, true, true},
		"its record was altered":        {recorded{files: files, missing: "Other files."}, false, []plan.Change{create}, true, true},
		"nothing was applied":           {recorded{}, false, []plan.Change{create}, false, false},
		"a part of it was applied":      {recorded{}, false, []plan.Change{create}, true, false},
		"the status is lost":            {recorded{}, false, []plan.Change{change}, true, true},
		"the status is lost, no change": {recorded{}, false, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			guards := config.Guards{MaxDeletedPools: 9}
			w := &Worker{
				Compiler: &asks{answer: compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: guards}}, Failed: tt.failed}},
				Records:  tt.record, Cache: nothing{}, Now: time.Now,
			}
			head := compiled{
				Answer:  compile.Answer{Result: compile.Result{Compiled: config.Compiled{Guards: guards}}},
				request: compile.Request{Root: t.TempDir(), Dir: "."},
			}
			rev := &candidate{revision: revision{target: target{NodePlan: &lkeplanv1alpha1.NodePlan{}}}}
			rev.head.Objects = []config.Object{{}}
			var err error
			if rev.base, err = w.base(t.Context(), rev.target, t.TempDir(), head); err != nil {
				t.Fatal(err)
			}
			p := &judged{ownership: ownership{ours: owned{}}}
			if tt.ours {
				p.ours[change.Key()] = true
			}
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

// TestVariableCannotLiftGuard: guards are judged with the values that they had when they were
// applied, regardless of a change of a variable or a commit with it.
func TestVariableCannotLiftGuard(t *testing.T) {
	const declared = "variable \"max\" {\n  type = string\n}\nvariable \"l\" {\n  type = string\n}\n"
	for name, tt := range map[string]struct {
		label, max string // the present values
		commit     bool   // with another label that is not a variable's
		want       string // the label that the pool has
	}{
		"the guard, with a commit":              {"one", "100%", true, "one"},
		"the guard, with what the nodes are of": {"two", "100%", false, "one"},
		"what the nodes are of":                 {"two", "0", false, "one"},
		"the guard only":                        {"one", "100%", false, "one"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &proving{world: newWorld(t), now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
			p.worker.Now = func() time.Time { return p.now }
			label, maximum := "one", "0"
			p.worker.Vars = func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) {
				return Variables{Vars: []config.Var{{Name: "l", Value: label}, {Name: "max", Value: maximum}}}, nil
			}
			p.np = p.plan("fleet", "a", "fleet")
			push := func(l string) {
				p.guardedPools("  max_rolled_nodes = var.max\n", "LABEL", "web")
				files := p.commits[len(p.commits)-1]
				for file, text := range files {
					files[file] = declared + strings.ReplaceAll(text, `"LABEL"`, l)
				}
			}
			push("var.l")
			if o := p.reconcile(p.np); o.reason != lkeplanv1alpha1.ReasonSucceeded {
				t.Fatal(o.message)
			}
			p.node("web")
			if label, maximum = tt.label, tt.max; tt.commit {
				push(`"two"`)
			}
			for range 3 {
				o := p.after(time.Minute)
				if got := p.has("web"); got != tt.want {
					t.Errorf("%s: the pool has %q, want %q", o.reason, got, tt.want)
				}
				changes := tt.commit || tt.label != "one"
				if (o.reason == lkeplanv1alpha1.ReasonGuarded) != changes {
					t.Errorf("%s: %s", o.reason, o.message)
				}
			}
			if p.np.Status.Approval = nil; tt.commit || tt.label != "one" {
				p.approve()
				p.after(time.Minute)
				if got := p.has("web"); got != "two" {
					t.Errorf("after an approval the pool has %q", got)
				}
			}
		})
	}
}

// TestChangedSecretBlocksPolicies: a policy may have read it.
func TestChangedSecretBlocksPolicies(t *testing.T) {
	np := nodePlan("a", "fleet")
	var last appliedRecord
	secret := func(value string) []config.Var { return []config.Var{{Name: "token", Value: value, Secret: true}} }
	last.Variables = recordedVariables(np, append(secret("one"), config.Var{Name: "max", Value: "0"}))
	for name, tt := range map[string]struct {
		now      []config.Var
		policies int
		refused  bool
	}{
		"the same":                      {secret("one"), 1, false},
		"another one":                   {secret("two"), 1, true},
		"another one, without policies": {secret("two"), 0, false},
		"none":                          {nil, 1, true},
		"no Secret any more":            {[]config.Var{{Name: "token", Value: "one"}}, 1, true},
	} {
		compiler := &asks{}
		compiler.answer.PolicyCount = tt.policies
		w := &Worker{Compiler: compiler, Records: recorded{path: ".", files: map[string]string{"a": ""}, vars: last.Variables}}
		head := compiled{request: compile.Request{Root: t.TempDir(), Dir: "."}}
		base, err := w.base(t.Context(), target{np, Variables{Vars: tt.now}}, t.TempDir(), head)
		if err != nil || (base.lastAppliedError != "") != tt.refused {
			t.Errorf("%s: %q, %v", name, base.lastAppliedError, err)
		}
		if i := slices.IndexFunc(base.request.Vars, func(v config.Var) bool { return v.Name == "max" }); !tt.refused &&
			(i < 0 || base.request.Vars[i].Value != "0") {
			t.Errorf("%s: it is compiled with %v", name, base.request.Vars)
		}
	}
}
