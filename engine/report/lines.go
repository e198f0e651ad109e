package report

import (
	"io"

	"github.com/lkeplan/lkeplan/config/diag"
)

// line is one line of the format jsonl: its type, and its content in the member with the name of the type.
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

// writeLines writes a report as lines of JSON. With several directories, the last line is a summary of all.
func writeLines(w io.Writer, r Report, o Options) error {
	if !r.joined() {
		return r.document(o).lines(w, "", "", r.ExitCode)
	}
	f := r.fleet(o)
	for _, d := range f.Directories {
		if err := d.Plan.lines(w, d.Directory, d.Failed, f.Summary.ExitCode); err != nil {
			return err
		}
	}
	return diag.IndentedJSON(w, line{Type: "fleet_summary", Fleet: &fleetTotal{f.Summary, f.Cost, f.NotReached}}, "")
}

// lines writes a document as lines: the compared revisions, diagnostics, changes, migrations, drift, rolls, workloads,
// guards and notes, and last a summary with the exit code of the command. Failed is why there is no plan.
func (d Document) lines(w io.Writer, directory, failed string, exitCode int) error {
	var err error
	put := func(l line) {
		if l.Directory = directory; err == nil {
			err = diag.IndentedJSON(w, l, "")
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

// fleet is the report of several directories as JSON.
func (r Report) fleet(o Options) Fleet {
	f := Fleet{
		FormatVersion: FormatVersion, Version: o.Version, Directories: []Directory{},
		NotReached: append([]string{}, r.Unreached...), Cost: costsOf(r.Plan),
		Summary: fleetSummary{summary: summaryOf(r.Plan), Directories: len(r.Parts), ExitCode: r.ExitCode},
	}
	for _, part := range r.Parts {
		f.Directories = append(f.Directories, Directory{part.Directory, part.Failed, part.document(o)})
		switch {
		case part.Failed != "":
			f.Summary.DirectoriesFailed++
			continue
		case part.Refused():
			f.Summary.DirectoriesRefused++
		}
		if len(part.Changes) > 0 {
			f.Summary.DirectoriesChanged++
		}
	}
	return f
}

type fleetTotal struct {
	fleetSummary
	Cost       *cost    `json:"cost"`
	NotReached []string `json:"not_reached"`
}
