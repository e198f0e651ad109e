package diag_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
)

const source = "pool \"web\" {\n\tweight = each.value + local.x\n  name = \"ü\" # \x1b[31mred\n}\n"

// found returns a diagnostic about a part of the source.
func found(t *testing.T, part string) (*hcl.Diagnostic, map[string]*hcl.File) {
	t.Helper()
	file, diags := hclsyntax.ParseConfig([]byte(source), "main.lke.hcl", hcl.InitialPos)
	if file == nil {
		t.Fatal(diags)
	}
	start := strings.Index(source, part)
	line := 1 + strings.Count(source[:start], "\n")
	column := start - strings.LastIndexByte(source[:start], '\n')
	at := hcl.Range{
		Filename: "main.lke.hcl",
		Start:    hcl.Pos{Line: line, Column: column, Byte: start},
		End:      hcl.Pos{Line: line, Column: column + len(part), Byte: start + len(part)},
	}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Bad", Detail: "It is bad.",
		Subject: &at}, map[string]*hcl.File{"main.lke.hcl": file}
}

func messageText(t *testing.T, d *hcl.Diagnostic, files map[string]*hcl.File) string {
	t.Helper()
	var out bytes.Buffer
	if err := diag.Text(&out, diag.New(hcl.Diagnostics{d}, files), false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTextWrapsAtTheWidth: at the width of the writer, or else at 80 columns.
func TestTextWrapsAtTheWidth(t *testing.T) {
	d := diag.Diagnostic{Severity: "error", Summary: "Bad", Detail: strings.Repeat("word ", 50)}
	for width, want := range map[int]int{0: 80, 40: 40, 132: 132} {
		var out bytes.Buffer
		w := diag.NewWriter(&out)
		w.Width = width
		if err := diag.Text(w, []diag.Diagnostic{d}, false); err != nil {
			t.Fatal(err)
		}
		longest := 0
		for line := range strings.Lines(out.String()) {
			longest = max(longest, len(strings.TrimSuffix(line, "\n")))
		}
		if longest > want || longest < want-5 {
			t.Errorf("width %d: the longest line has %d columns", width, longest)
		}
	}
}

// TestEqualMessagesAreOne: from the third on, they are one with the places of the others.
func TestEqualMessagesAreOne(t *testing.T) {
	var diags []diag.Diagnostic
	for line := range 4 {
		at := &diag.Range{Filename: "a.lke.hcl", Start: diag.Pos{Line: line + 1, Column: 1}}
		diags = append(diags, diag.Diagnostic{Severity: "warning", Summary: "Odd", Detail: "It is odd.", Range: at})
	}
	diags = slices.Insert(diags, 1, diag.Diagnostic{Severity: "warning", Summary: "Other", Detail: "It is another."})
	var out bytes.Buffer
	if err := diag.Text(&out, diags, false); err != nil {
		t.Fatal(err)
	}
	const list = "  The same on a.lke.hcl:2, a.lke.hcl:3, a.lke.hcl:4.\n"
	if n := strings.Count(out.String(), "It is odd."); n != 1 || !strings.Contains(out.String(), list) {
		t.Errorf("%d times, in\n%s", n, out.String())
	}
}

func TestText(t *testing.T) {
	d, files := found(t, "each.value + local.x")
	d.Expression, _ = hclsyntax.ParseExpression([]byte("each.value + local.x"), "", hcl.InitialPos)
	d.EvalContext = &hcl.EvalContext{Variables: map[string]cty.Value{
		"each":  cty.ObjectVal(map[string]cty.Value{"value": cty.StringVal("30d")}),
		"local": cty.ObjectVal(map[string]cty.Value{"x": cty.TupleVal([]cty.Value{cty.True, cty.False})}),
	}}
	want := `Error: Bad

  on main.lke.hcl:2, in pool "web":

  2 | 	weight = each.value + local.x
    | 	         ^^^^^^^^^^^^^^^^^^^^
    | each.value is "30d"
    | local.x is tuple with 2 elements

  It is bad.

`
	if diff := cmp.Diff(want, messageText(t, d, files)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestHidden checks that no character in a file or a message controls the terminal.
func TestHidden(t *testing.T) {
	d, files := found(t, `"ü"`)
	d.Detail = "A \x1b]0;title\x07 and \u202e."
	want := `Error: Bad

  on main.lke.hcl:3, in pool "web":

  3 |   name = "ü" # \u001b[31mred
    |          ^^^

  A \u001b]0;title\u0007 and \u202e.

`
	if diff := cmp.Diff(want, messageText(t, d, files)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTextWithoutSource(t *testing.T) {
	d, _ := found(t, `"ü"`)
	if got, want := messageText(t, d, nil), "Error: Bad\n\n  on main.lke.hcl:3\n\n  It is bad.\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d.Severity, d.Subject, d.Detail = hcl.DiagWarning, nil, strings.Repeat("word ", 20)+"\n  lkeplan fmt\nDone."
	want := "Warning: Bad\n\n  " + strings.TrimSpace(strings.Repeat("word ", 15)) +
		"\n  word word word word word\n    lkeplan fmt\n  Done.\n\n"
	if diff := cmp.Diff(want, messageText(t, d, nil)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestFit: long lines are wrapped at words, and rows of tables stay.
func TestFit(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 12))
	text := "  pool web: " + long + "\npool  plan  " + long + "\nshort\n"
	want := "  pool web: word word word word word\n    word word word word word word word\npool  plan  " + long + "\nshort\n"
	if diff := cmp.Diff(want, diag.Fit(text, 40)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := diag.Fit(text, 0); got != text {
		t.Errorf("without a width: %q", got)
	}
}

func TestCount(t *testing.T) {
	e, w := &hcl.Diagnostic{Severity: hcl.DiagError}, &hcl.Diagnostic{Severity: hcl.DiagWarning}
	for want, diags := range map[string]hcl.Diagnostics{
		"":                       nil,
		"1 error":                {e},
		"2 warnings":             {w, w},
		"2 errors and 1 warning": {e, w, e},
	} {
		if got := diag.Count(diags); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAppendKeepsFirstErrorOfLimit: errors that follow from a limit do not hide the error about it.
func TestAppendKeepsFirstErrorOfLimit(t *testing.T) {
	var list hcl.Diagnostics
	for n := range 2 * diag.MaxKept {
		list = diag.Append(list, diag.At(fmt.Sprintf("Mistake %d", n), "", hcl.Range{}))
	}
	list = diag.Append(list, diag.Limit("Too many modules", "first", hcl.Range{}), diag.Limit("Too many modules", "second", hcl.Range{}))
	list = diag.Append(list, diag.Limit("Too many blocks", "", hcl.Range{}), diag.At("Mistake", "", hcl.Range{}))
	if len(list) != diag.MaxKept {
		t.Errorf("%d are kept", len(list))
	}
	var last []string
	for _, d := range list[len(list)-3:] {
		last = append(last, d.Summary+" "+d.Detail)
	}
	want := []string{fmt.Sprintf("Mistake %d ", diag.MaxKept-3), "Too many modules first", "Too many blocks "}
	if d := cmp.Diff(want, last); d != "" {
		t.Error(d)
	}
}
