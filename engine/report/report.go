// Package report writes plans down: for people, for programs, and for the
// systems that show what came out of a build.
//
// A format is a function of one Report: a plan, and what else is known of it. The
// package decides nothing: what changes, and what it does to nodes, is in the
// plan. What is said of it is built once (view.go, in the sentences of words.go), and
// text, Markdown, HTML and the findings for CI lay it out; programs read it as JSON
// (document.go). It knows no terminal and no environment: its caller says how wide and
// colorful a page may be, and which files a report goes to (outfile.go). Equal
// reports give equal bytes.
//
// What a plan holds can be written by everyone who can open a pull
// request. Nothing of it steers a terminal, a browser, a bot or a runner that
// reads the report.
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

// Report is what is written down: a plan, and what else is known of it.
type Report struct {
	plan.Plan
	Diagnostics []diag.Diagnostic // of compiling the head
	Digest      string            // of the saved plan; "" where none is saved
	ExitCode    int               // that the command ends with
	// Picture is the nodes that pods get before and after the change, as elements that the
	// style sheet of pages knows; "" where none are simulated.
	Picture template.HTML

	// Directory is what the report is about where it is a part of another, and
	// Failed says why there is no plan of it.
	Directory, Failed string
	// Parts are the reports that this one is the sum of, and Unreached the
	// directories that are not in it; see Join.
	Parts     []Report
	Unreached []string
}

// Options are how a report is written.
type Options struct {
	Target   string // the directory it is about, which distinguishes several reports
	Version  string // of the program
	Color    bool   // of text: use the escape sequences of terminals
	ASCII    bool   // of text: use no other characters
	Width    int    // of text, in columns; 0: as wide as it takes
	MaxChars int    // of Markdown; 0: MaxComment
	// Apply is the command that applies the plan, such as lkeplan apply DIR; none where
	// there is no one command.
	Apply []string
	All   bool // of text and Markdown: list each object of those with the same change
	// Path is, of text, how a file of the repository is named from the working directory; nil: as from the
	// repository's root.
	Path func(string) string
}

// Format writes a report.
type Format func(w io.Writer, r Report, o Options) error

// formats are in the order in which they are named to people.
var formats = []struct {
	name  string
	write Format
}{
	{"text", Text},
	{"json", writeJSON},
	{"jsonl", writeLines},
	{"markdown", Markdown},
	{"html", HTML},
	{"github", GitHub},
	{"github-summary", GitHubSummary},
	{"github-output", GitHubOutput},
	{"gitlab-terraform", GitLabTerraform},
	{"gitlab-codequality", GitLabCodeQuality},
	{"sarif", SARIF},
	{"junit", JUnit},
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
		return fmt.Errorf("there is no format %q", format)
	}
	return formats[i].write(w, r, o)
}

// document is the report in JSON.
func (r Report) document(o Options) Document {
	return newDocument(r.Plan, r.Diagnostics, r.Digest, o.Version)
}

func writeJSON(w io.Writer, r Report, o Options) error {
	if r.joined() {
		return r.fleet(o).Write(w)
	}
	return r.document(o).Write(w)
}

func writeLines(w io.Writer, r Report, o Options) error {
	if r.joined() {
		return r.fleet(o).WriteLines(w)
	}
	return r.document(o).WriteLines(w, r.ExitCode)
}

// fleet is the report of several directories in JSON.
func (r Report) fleet(o Options) Fleet {
	directories := make([]Directory, len(r.Parts))
	for i, part := range r.Parts {
		directories[i] = Directory{Directory: part.Directory, Failed: part.Failed, Plan: part.document(o)}
	}
	return NewFleet(directories, r.Unreached, r.Plan, o.Version, r.ExitCode)
}

// refusing are the guards and policies that block the plan.
func (r Report) refusing() (names []string) {
	for _, v := range r.Verdicts {
		if v.Status == plan.Blocked && !slices.Contains(names, v.Guard) {
			names = append(names, v.Guard)
		}
	}
	return names
}

// uncounted are the guards and policies that were not checked.
func (r Report) uncounted() (names []string) {
	for _, v := range r.Verdicts {
		if v.Status == plan.Unknown && !slices.Contains(names, v.Guard) {
			names = append(names, v.Guard)
		}
	}
	return names
}

// guarded counts the guards and policies that have nothing to say, and those that
// cannot tell; "" where there are none.
func (r Report) guarded() string {
	n := map[plan.Status]int{}
	for _, v := range r.Verdicts {
		n[v.Status]++
	}
	var parts []string
	if passed := n[plan.Passed]; passed > 0 {
		parts = append(parts, fmt.Sprint(passed, " passed"))
	}
	if unknown := n[plan.Unknown]; unknown > 0 {
		parts = append(parts, fmt.Sprint(unknown, " not checked"))
	}
	if waiting := n[plan.Waiting]; waiting > 0 {
		parts = append(parts, fmt.Sprint(waiting, " waiting"))
	}
	return strings.Join(parts, ", ")
}
