// Package report writes plans for people, for programs, and for CI systems.
//
// A format is a function of one Report: a plan with its context. The package decides nothing: the plan says what
// changes, and what happens to nodes. The content is built once (view.go, with the sentences of words.go); text,
// Markdown, HTML and the findings for CI lay it out. Programs read JSON (document.go). The package knows no terminal
// and no environment: the caller sets width, color and files (outfile.go). Equal reports give equal bytes.
//
// Everyone who can open a pull request can write the content of a plan. No part of it can control a terminal, a
// browser, a bot or a runner that reads the report.
package report

import (
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// Report is a plan with its context.
type Report struct {
	plan.Plan
	Diagnostics []diag.Diagnostic // of compiling the head
	Digest      string            // of the saved plan; "" if none is saved
	ExitCode    int               // of the command
	// Picture shows the nodes of the simulated pods before and after the change, in elements that the style sheet of
	// pages knows; "" if no pods are simulated.
	Picture template.HTML

	// Directory is set if the report is a part of another one. Failed is why the directory has no plan.
	Directory, Failed string
	// Cluster identifies the cluster whose nodes were counted: parts with the same cluster count the same nodes. It
	// is "" if it is unknown.
	Cluster string
	// Parts are the reports that this one joins, and Unreached the directories that are not in it; see Join.
	Parts     []Report
	Unreached []string
}

// Options are how a report is written.
type Options struct {
	Target   string // the directory, which distinguishes several reports
	Version  string // of the program
	Color    bool   // of text: use the escape sequences of terminals
	ASCII    bool   // of text: use no other characters
	Width    int    // of text, in columns; 0: no limit
	MaxChars int    // of Markdown; 0: MaxComment
	// Apply is the command that applies the plan, such as lkeplan apply DIR; empty if there is no single command.
	Apply []string
	All   bool // of text and Markdown: list every object, even those with the same change
	// Path returns a file name relative to the working directory, for text; nil: relative to the repository's root.
	Path func(string) string
}

// formats are in the order of help texts.
var formats = []struct {
	name  string
	write func(w io.Writer, r Report, o Options) error
}{
	{"text", Text},
	{"json", writeJSON},
	{"markdown", Markdown},
	{"html", HTML},
	{"github", GitHub},
	{"github-output", GitHubOutput},
	{"gitlab-codequality", GitLabCodeQuality},
}

// Formats lists the names of all formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Write writes a report in the format of that name.
func Write(w io.Writer, format string, r Report, o Options) error {
	i := slices.Index(Formats(), format)
	if i < 0 {
		return fmt.Errorf("unknown format %q", format)
	}
	return formats[i].write(w, r, o)
}

func writeJSON(w io.Writer, r Report, o Options) error {
	if r.joined() {
		return diag.JSON(w, r.fleet(o))
	}
	return diag.JSON(w, r.document(o))
}

// refusing returns the guards and policies that block the plan.
func (r Report) refusing() []string { return r.judged(plan.Blocked) }

// uncounted returns the guards and policies that were not checked.
func (r Report) uncounted() []string { return r.judged(plan.Unknown) }

// judged returns the guards and policies with a verdict.
func (r Report) judged(status plan.Status) (names []string) {
	for _, v := range r.Verdicts {
		if v.Status == status && !slices.Contains(names, v.Guard) {
			names = append(names, v.Guard)
		}
	}
	return names
}

// guarded counts the guards and policies that passed, were not checked, or wait; "" if there are none.
func (r Report) guarded() string {
	n, defaults := map[plan.Status]int{}, true
	for _, v := range r.Verdicts {
		n[v.Status]++
		defaults = defaults && (v.Default || v.Status == plan.Changed)
	}
	var parts []string
	for _, of := range []struct {
		status plan.Status
		text   string
	}{{plan.Passed, "passed"}, {plan.Unknown, "not checked"}, {plan.Waiting, "waiting"}} {
		if n := n[of.status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, of.text))
		}
	}
	text := strings.Join(parts, ", ")
	if text != "" && defaults {
		text += " (the defaults)"
	}
	return text
}
