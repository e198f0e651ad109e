// Package diag shows diagnostics to people and to programs. All renderings
// come from one data model, so they cannot disagree.
//
// The text shown comes from files that anybody may have written: characters
// that would steer a terminal are made visible, and what would be a command to
// the system that reads the output is no command any more.
package diag

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
)

// A Diagnostic is one message. The JSON names are part of the command line's
// interface.
type Diagnostic struct {
	Severity string   `json:"severity"` // "error" or "warning"
	Rule     string   `json:"rule"`     // what is complained of, for programs: "invalid-duration"
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail,omitempty"`
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`

	// Key tells it apart from others of its rule, from run to run; the detail
	// where it is empty.
	Key string `json:"-"`
}

// A Range is a part of a file. Lines and columns count from 1, columns in
// characters; the end is the first character that is not part of it.
type Range struct {
	Filename string `json:"filename"`
	Start    Pos    `json:"start"`
	End      Pos    `json:"end"`
}

// RangeOf is a range of HCL, with a harmless name of the file.
func RangeOf(r hcl.Range) *Range {
	return &Range{OneLine(r.Filename), Pos{r.Start.Line, r.Start.Column}, Pos{r.End.Line, r.End.Column}}
}

// A Pos is a place in a file.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// A Snippet is the source a message is about.
type Snippet struct {
	Context string   `json:"context,omitempty"` // the block it is in: pool "web"
	Line    string   `json:"line"`              // the first line of the range, whole
	Values  []string `json:"values,omitempty"`  // of what the expression refers to: each.value is "30d"

	start, end int // of the range in Line, in bytes
}

// New makes the model of diagnostics. Source is shown for the files given.
func New(diags hcl.Diagnostics, files map[string]*hcl.File) []Diagnostic {
	list := make([]Diagnostic, 0, len(diags))
	for _, d := range diags {
		list = append(list, build(d, files))
	}
	return list
}

// Ruled is what the Extra of a diagnostic may be, to name the rule that it is
// about. Other diagnostics are named after their summary.
type Ruled interface {
	DiagnosticRule() string
}

func build(d *hcl.Diagnostic, files map[string]*hcl.File) Diagnostic {
	model := Diagnostic{Severity: "error", Rule: rule(d), Summary: OneLine(d.Summary), Detail: Visible(d.Detail)}
	if d.Severity == hcl.DiagWarning {
		model.Severity = "warning"
	}
	if d.Subject == nil {
		return model
	}
	model.Range = RangeOf(*d.Subject)
	if file := files[d.Subject.Filename]; file != nil {
		model.Snippet = snippet(d, file)
	}
	return model
}

// rule is the name of a rule, else the summary in small letters with dashes.
func rule(d *hcl.Diagnostic) string {
	if named, ok := hcl.DiagnosticExtra[Ruled](d); ok {
		return named.DiagnosticRule()
	}
	words := strings.FieldsFunc(strings.ToLower(d.Summary), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-")
}

// Count says how many errors and warnings there are, in words: "2 errors and
// 1 warning". Without any it is "".
func Count(diags hcl.Diagnostics) string {
	errors, warnings := 0, 0
	for _, d := range diags {
		if d.Severity == hcl.DiagWarning {
			warnings++
		} else {
			errors++
		}
	}
	var parts []string
	for _, n := range []struct {
		count int
		noun  string
	}{{errors, "error"}, {warnings, "warning"}} {
		if n.count > 0 {
			parts = append(parts, Counted(n.count, n.noun))
		}
	}
	return strings.Join(parts, " and ")
}

// Counted writes a number of things: "1 node", "2 nodes". The noun takes an s.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Visible replaces characters that a terminal would obey, that change the order
// in which text is read, or that take up no room, by their escapes.
func Visible(text string) string {
	return Escape(text, hidden)
}

// Escape replaces some characters by their escapes: \u001b, \U000e0001.
func Escape(text string, some func(rune) bool) string {
	if strings.IndexFunc(text, some) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !some(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, "\\U%08x", r)
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}

// OneLine is Visible for text that is shown amid other text.
func OneLine(text string) string {
	return strings.ReplaceAll(Visible(text), "\n", `\u000a`)
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' &&
		(unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) ||
			r == unicode.ReplacementChar)
}
