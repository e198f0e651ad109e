package eval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/lkeplan/lkeplan/config/eval"
)

// program is a language of names only: each line is NAME = EXPRESSION, and others refer to it as
// x.NAME.
type program struct {
	run   *eval.Run
	scope *eval.Scope
	table *eval.Table
	count map[string]int // the number of evaluations of each name
}

func parse(t *testing.T, src string) *program {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(src), "p", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	p := &program{
		run:   &eval.Run{},
		table: &eval.Table{Noun: "name", Nodes: map[string]*eval.Node{}},
		count: map[string]int{},
	}
	p.scope = eval.NewScope(p.run, map[string]eval.Root{
		"x":    {Table: p.table},
		"one":  {Value: cty.NumberIntVal(1)},
		"gone": {Absent: "It is gone."},
	}, map[string]function.Function{"upper": stdlib.UpperFunc, "jsonencode": stdlib.JSONEncodeFunc})
	attrs, _ := file.Body.JustAttributes()
	for name, attr := range attrs {
		p.table.Nodes[name] = &eval.Node{Name: "x." + name, Range: attr.NameRange,
			Eval: func() (cty.Value, hcl.Diagnostics) {
				p.count[name]++
				v, _, diags := p.scope.Value(attr.Expr)
				return v, diags
			}}
	}
	return p
}

// messages returns the run's diagnostics as "line: detail".
func (p *program) messages() (list []string) {
	for _, d := range p.run.Diags {
		list = append(list, d.Detail)
	}
	return list
}

func TestValue(t *testing.T) {
	p := parse(t, `
a = "${x.b}-${x.b}"
b = upper(x.c)
c = "c"
d = [for v in [x.a, x.b] : v]
e = jsonencode(x)
`)
	if got := p.run.Value(p.table.Nodes["d"]); !got.RawEquals(cty.TupleVal([]cty.Value{cty.StringVal("C-C"),
		cty.StringVal("C")})) {
		t.Errorf("got %#v", got)
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}, p.count); diff != "" {
		t.Errorf("worked out (-want +got):\n%s", diff)
	}
	if p.run.Diags != nil {
		t.Error(p.run.Diags)
	}
}

// TestErrors evaluates a name and compares all messages: one for each cause.
func TestErrors(t *testing.T) {
	tests := []struct {
		name, src string
		want      []string
	}{
		{"unknown name", "a = x.tems\nteams = 1",
			[]string{`No name is named "tems" in this directory. Did you mean "teams"?`}},
		{"unknown name in brackets", `a = x["bb"]`, []string{`No name is named "bb" in this directory.`}},
		{"unknown root", "a = y.b", []string{`The name "y" is not declared. References start with one of: one, x.`}},
		{"bare word", "a = yes", []string{`The name "yes" is not declared. Write text in quotes: "yes".`}},
		{"bare word that names something", "a = teams\nteams = 1",
			[]string{`The name "teams" is not declared. Did you mean x.teams? Write text in quotes: "teams".`}},
		{"absent root", "a = gone.x", []string{"It is gone."}},
		{"all unknown names are found", "a = [x.p, x.q]", []string{
			`No name is named "p" in this directory.`, `No name is named "q" in this directory.`,
		}},
		{"unknown name beside a failed one", "a = [x.b, x.q]\nb = x.p",
			[]string{`No name is named "q" in this directory.`}},
		{"consequences are silent", "a = upper(x.b.c[x.d])\nb = x.p\nd = 1",
			[]string{`No name is named "p" in this directory.`}},
		{"unknown attribute", "a = x.b.thnig\nb = { thing = 1 }",
			[]string{`This object does not have an attribute named "thnig". Did you mean "thing"? Existing names: thing.`}},
		{"unknown function", "a = uper(1)", []string{`The function "uper" does not exist. Did you mean "upper"?`}},
		{"unknown function in a namespace", "a = core::upper(1)",
			[]string{`The function "core::upper" does not exist. "lkeplan explain" lists all functions.`}},
		{"cycle", "a = x.b\nb = [x.c]\nc = x.a", []string{
			"None of these values can be computed, because each needs the next: x.a (p:1) → x.b (p:2) → x.c (p:3) → x.a.",
		}},
		{"cycle beyond the first", "a = x.b\nb = x.c\nc = x.b", []string{
			"None of these values can be computed, because each needs the next: x.b (p:2) → x.c (p:3) → x.b.",
		}},
		{"itself", "a = x.a",
			[]string{"None of these values can be computed, because each needs the next: x.a (p:1) → x.a."}},
		{"all of itself", "a = jsonencode(x)",
			[]string{"None of these values can be computed, because each needs the next: x.a (p:1) → x.a."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := parse(t, tt.src)
			if v := p.run.Value(p.table.Nodes["a"]); v.IsWhollyKnown() {
				t.Errorf("it has the value %#v", v)
			}
			if diff := cmp.Diff(tt.want, p.messages()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	p := parse(t, "a = 1\nb = x.a + 1")
	p.table.Nodes["a"].Check = func(v cty.Value) hcl.Diagnostics {
		if seen := p.run.Value(p.table.Nodes["a"]); !seen.RawEquals(v) {
			t.Errorf("the check sees %#v", seen)
		}
		return hcl.Diagnostics{{Severity: hcl.DiagError, Detail: "No."}}
	}
	if v := p.run.Value(p.table.Nodes["b"]); v.IsKnown() {
		t.Errorf("what failed its check has the value %#v", v)
	}
	if diff := cmp.Diff([]string{"No."}, p.messages()); diff != "" {
		t.Error(diff)
	}
}

// TestFailedValueIsVisibleOnlyToItsCheck: a check can refer to the value that it checks. If it
// fails, the value is unknown to others.
func TestFailedValueIsVisibleOnlyToItsCheck(t *testing.T) {
	p := parse(t, "a = 1\nb = x.a + 1\nc = x.a + 2")
	p.table.Nodes["a"].Check = func(cty.Value) hcl.Diagnostics {
		if v := p.run.Value(p.table.Nodes["b"]); !v.RawEquals(cty.NumberIntVal(2)) {
			t.Errorf("the check sees %#v", v)
		}
		return hcl.Diagnostics{{Severity: hcl.DiagError, Detail: "No."}}
	}
	p.run.Value(p.table.Nodes["a"])
	if v := p.run.Value(p.table.Nodes["c"]); v.IsKnown() {
		t.Errorf("what failed its check has the value %#v", v)
	}
}

func TestWhole(t *testing.T) {
	p := parse(t, "a = x\nb = [x, x.c]\nc = 1")
	p.table.Whole = func() cty.Value { return cty.StringVal("all") }
	if v := p.run.Value(p.table.Nodes["a"]); !v.RawEquals(cty.StringVal("all")) {
		t.Errorf("got %#v", v)
	}
	p.run.Value(p.table.Nodes["b"])
	if len(p.run.Diags) != 1 || !strings.Contains(p.run.Diags[0].Detail, "Move one of the references to a local") {
		t.Errorf("all and one: %v", p.run.Diags)
	}
}

func TestSuggest(t *testing.T) {
	tests := []struct {
		given, want string
		names       []string
	}{
		{"defalt", "default", []string{"other", "default"}},
		{"weigth", "weight", []string{"weight", "height"}},
		{"noschedule", "NoSchedule", []string{"NoSchedule", "NoExecute"}},
		{"x", "", []string{"y", "z"}},
		{"web", "", []string{"api", "ml"}},
		{"yaml", "", []string{"html"}},
		{"sweep", "", []string{"keep"}},
		{"hlep", "help", []string{"help"}},
		{"ab", "", nil},
	}
	for _, tt := range tests {
		if got := eval.Suggest(tt.given, tt.names); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.given, got, tt.want)
		}
	}
}
