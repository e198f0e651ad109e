// Package diag shows diagnostics to people and to programs. All formats are derived from one data
// model, so they are consistent.
//
// The text comes from files of any author. Characters that would control a terminal are escaped,
// and text that would be a command to the system that reads the output is made harmless.
package diag

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/schemas/text"
)

// A Diagnostic is one message. The JSON names are part of the command-line interface.
type Diagnostic struct {
	Severity string   `json:"severity"` // "error" or "warning"
	Rule     string   `json:"rule"`     // the kind of problem, for programs: "invalid-duration"
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail,omitempty"`
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`

	// Key distinguishes it from others of its rule across runs; if empty, the detail does.
	Key string `json:"-"`
}

// A Range is a part of a file. Lines and columns start at 1; columns count characters. The end is
// the first character after the part.
type Range struct {
	Filename string `json:"filename"`
	Start    Pos    `json:"start"`
	End      Pos    `json:"end"`
}

// RangeOf converts a range of HCL, and escapes the file name.
func RangeOf(r hcl.Range) Range {
	return Range{OneLine(r.Filename), Pos{r.Start.Line, r.Start.Column}, Pos{r.End.Line, r.End.Column}}
}

// IsZero reports whether the place is unknown.
func (r Range) IsZero() bool { return r.Filename == "" }

// A Pos is a place in a file.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// A Snippet is the source of a message.
type Snippet struct {
	Context string   `json:"context,omitempty"` // the block that contains it: pool "web"
	Line    string   `json:"line"`              // the complete first line of the range
	Values  []string `json:"values,omitempty"`  // of the expression's references: each.value is "30d"

	start, end int // of the range in Line, in bytes
}

// New returns the model of diagnostics, with source from the given files.
func New(diags hcl.Diagnostics, files map[string]*hcl.File) []Diagnostic {
	list := make([]Diagnostic, 0, len(diags))
	for _, d := range diags {
		list = append(list, newDiagnostic(d, files))
	}
	return list
}

// Ruled is an interface that the Extra of a diagnostic can implement to name its rule. Other
// diagnostics are named after their summary.
type Ruled interface {
	DiagnosticRule() string
}

func newDiagnostic(d *hcl.Diagnostic, files map[string]*hcl.File) Diagnostic {
	model := Diagnostic{Severity: "error", Rule: ruleName(d), Summary: OneLine(d.Summary), Detail: Visible(d.Detail)}
	if d.Severity == hcl.DiagWarning {
		model.Severity = "warning"
	}
	if d.Subject == nil {
		return model
	}
	at := RangeOf(*d.Subject)
	model.Range = &at
	if file := files[d.Subject.Filename]; file != nil {
		model.Snippet = newSnippet(d, file)
	}
	return model
}

// ruleName returns the name of the rule, or the summary in lower case with dashes.
func ruleName(d *hcl.Diagnostic) string {
	if named, ok := hcl.DiagnosticExtra[Ruled](d); ok {
		return named.DiagnosticRule()
	}
	words := strings.FieldsFunc(strings.ToLower(d.Summary), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-")
}

// Count returns the numbers of errors and warnings in words: "2 errors and 1 warning". Without any,
// it is "".
func Count(diags hcl.Diagnostics) string {
	counts := map[hcl.DiagnosticSeverity]int{}
	for _, d := range diags {
		counts[d.Severity]++
	}
	var parts []string
	if n := counts[hcl.DiagError]; n > 0 {
		parts = append(parts, text.Count(n, "error"))
	}
	if n := counts[hcl.DiagWarning]; n > 0 {
		parts = append(parts, text.Count(n, "warning"))
	}
	return strings.Join(parts, " and ")
}

// Visible escapes characters that control a terminal, change the order of text, or have no width.
func Visible(text string) string {
	return Escape(text, isHidden)
}

// Escape escapes some characters: \u001b, \U000e0001.
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

// OneLine is Visible for text in a line.
func OneLine(text string) string {
	return strings.ReplaceAll(Visible(text), "\n", `\u000a`)
}

func isHidden(r rune) bool {
	return r != '\n' && r != '\t' &&
		(unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) ||
			r == unicode.ReplacementChar)
}

// ShellLine is a line for a shell.
func ShellLine(words ...string) string {
	line := make([]string, len(words))
	for i, word := range words {
		line[i] = quoteForShell(word)
	}
	return strings.Join(line, " ")
}

// quoteForShell quotes a word for a shell.
func quoteForShell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/@%+=,-", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
