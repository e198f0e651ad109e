package report

import (
	"io"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// line is one line of WriteLines: its type, and its content in the member with the name of the type.
type line struct {
	Type       string           `json:"type" doc:"begin, diagnostic, resource_change, migration, resource_drift, rolling, workloads, guard, note, change_summary or fleet_summary: the name of the member that follows."`
	Directory  string           `json:"directory,omitempty" doc:"The directory of the line, if there are several."`
	Begin      *begin           `json:"begin,omitempty"`
	Diagnostic *diag.Diagnostic `json:"diagnostic,omitempty"`
	Change     *resourceChange  `json:"resource_change,omitempty"`
	Migration  *migration       `json:"migration,omitempty"`
	Drift      *resourceDrift   `json:"resource_drift,omitempty" doc:"It has one field."`
	Rolling    *rolling         `json:"rolling,omitempty"`
	Workloads  *workloads       `json:"workloads,omitempty"`
	Guard      *guard           `json:"guard,omitempty"`
	Note       string           `json:"note,omitempty"`
	Summary    *changeSummary   `json:"change_summary,omitempty" doc:"It is the last line of a directory."`
	Fleet      *fleetTotal      `json:"fleet_summary,omitempty" doc:"It is the last line of a report of several directories."`
}

type begin struct {
	FormatVersion string     `json:"format_version"`
	Version       string     `json:"lkeplan_version,omitempty"`
	Base          *revision  `json:"base,omitempty"`
	Head          *revision  `json:"head,omitempty"`
	Rules         *revision  `json:"rules,omitempty"`
	Rings         []ringTurn `json:"rings,omitempty"`
	Failed        string     `json:"failed,omitempty" doc:"Why there is no plan of the directory."`
}

type changeSummary struct {
	summary
	Cost     *cost  `json:"cost" doc:"The cost of all pools together."`
	Digest   string `json:"plan_digest,omitempty" doc:"Of the saved plan."`
	ExitCode int    `json:"exit_code" doc:"The exit code of the command."`
}

// WriteLines writes the document as lines of JSON: the compared revisions, diagnostics, changes, migrations, drift,
// rolls, workloads, guards and notes, and last a summary with the exit code of the command.
func (d Document) WriteLines(w io.Writer, exitCode int) error {
	return d.lines("", "", exitCode, func(l line) error { return diag.IndentedJSON(w, l, "") })
}

// lines writes the lines of a document. Failed is why there is no plan.
func (d Document) lines(directory, failed string, exitCode int, write func(line) error) error {
	var err error
	put := func(l line) {
		if l.Directory = directory; err == nil {
			err = write(l)
		}
	}
	put(line{Type: "begin", Begin: &begin{d.FormatVersion, d.Version, d.Base, d.Head, d.Rules, d.Rings, failed}})
	for _, found := range d.Diagnostics {
		put(line{Type: "diagnostic", Diagnostic: &found})
	}
	for _, change := range d.Changes {
		put(line{Type: "resource_change", Change: &change})
	}
	for _, steps := range d.Migrations {
		put(line{Type: "migration", Migration: &steps})
	}
	for _, drift := range d.Drift {
		for _, field := range drift.Fields {
			one := drift
			one.Fields = []driftedField{field}
			one.Change = alterationOf(one.Fields)
			put(line{Type: "resource_drift", Drift: &one})
		}
	}
	for _, r := range d.Rolling {
		put(line{Type: "rolling", Rolling: &r})
	}
	if d.Workloads != nil {
		put(line{Type: "workloads", Workloads: d.Workloads})
	}
	for _, g := range d.Guards {
		put(line{Type: "guard", Guard: &g})
	}
	for _, text := range d.Notes {
		put(line{Type: "note", Note: text})
	}
	put(line{Type: "change_summary", Summary: &changeSummary{d.Summary, d.Cost, d.Digest, exitCode}})
	return err
}

// Fleet is the plans of several directories.
type Fleet struct {
	FormatVersion string       `json:"format_version" doc:"The version of this format. A new minor version only adds to it."`
	Version       string       `json:"lkeplan_version,omitempty" doc:"The version of the program that wrote it."`
	Directories   []Directory  `json:"directories" doc:"Sorted by name."`
	NotReached    []string     `json:"not_reached" doc:"Directories that were not compiled, because the change does not affect them."`
	Cost          *cost        `json:"cost" doc:"The cost of all pools of all directories together."`
	Summary       fleetSummary `json:"summary" doc:"The sum of all directories. Pools are named DIRECTORY:ADDRESS."`
}

// Directory is one directory of a Fleet.
type Directory struct {
	Directory string   `json:"directory"`
	Failed    string   `json:"failed,omitempty" doc:"Why there is no plan. Diagnostics may have more details."`
	Plan      Document `json:"plan" doc:"It has no changes if there is no plan."`
}

type fleetSummary struct {
	summary
	Directories        int `json:"directories"`
	DirectoriesChanged int `json:"directories_changed"`
	DirectoriesRefused int `json:"directories_refused"`
	DirectoriesFailed  int `json:"directories_failed"`
	ExitCode           int `json:"exit_code" doc:"The exit code of the command."`
}

// NewFleet joins plans. Sum is the plan of all of them. Unreached are directories that were not compiled.
func NewFleet(directories []Directory, unreached []string, sum plan.Plan, version string, exitCode int) Fleet {
	f := Fleet{
		FormatVersion: FormatVersion, Version: version, Directories: append([]Directory{}, directories...),
		NotReached: append([]string{}, unreached...), Cost: costsOf(sum),
		Summary: fleetSummary{summary: summaryOf(sum), Directories: len(directories), ExitCode: exitCode},
	}
	for _, d := range directories {
		switch {
		case d.Failed != "":
			f.Summary.DirectoriesFailed++
			continue
		case d.Plan.Summary.Refused:
			f.Summary.DirectoriesRefused++
		}
		if len(d.Plan.Changes) > 0 {
			f.Summary.DirectoriesChanged++
		}
	}
	return f
}

// Write writes the plans as the definition fleet of Schema describes.
func (f Fleet) Write(w io.Writer) error { return diag.JSON(w, f) }

// WriteLines writes the lines of each plan, with their directory, and last a summary of all.
func (f Fleet) WriteLines(w io.Writer) error {
	for _, d := range f.Directories {
		if err := d.Plan.lines(d.Directory, d.Failed, f.Summary.ExitCode, func(l line) error {
			return diag.IndentedJSON(w, l, "")
		}); err != nil {
			return err
		}
	}
	return diag.IndentedJSON(w, line{Type: "fleet_summary", Fleet: &fleetTotal{f.Summary, f.Cost, f.NotReached}}, "")
}

type fleetTotal struct {
	fleetSummary
	Cost       *cost    `json:"cost"`
	NotReached []string `json:"not_reached"`
}
