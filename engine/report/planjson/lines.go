package planjson

import (
	"io"

	"github.com/lkeplan/lkeplan/config/diag"
)

// line is one line of WriteLines: its type, and what belongs to it under the name
// of the type.
type line struct {
	Type       string           `json:"type" doc:"begin, diagnostic, resource_change, migration, resource_drift, rolling, workloads, guard, note, change_summary or fleet_summary: the name of the member that follows."`
	Directory  string           `json:"directory,omitempty" doc:"The one of several that the line is about."`
	Begin      *begin           `json:"begin,omitempty"`
	Diagnostic *diag.Diagnostic `json:"diagnostic,omitempty"`
	Change     *resourceChange  `json:"resource_change,omitempty"`
	Migration  *migration       `json:"migration,omitempty"`
	Drift      *resourceDrift   `json:"resource_drift,omitempty" doc:"With one field."`
	Rolling    *rolling         `json:"rolling,omitempty"`
	Workloads  *workloads       `json:"workloads,omitempty"`
	Guard      *guard           `json:"guard,omitempty"`
	Note       string           `json:"note,omitempty"`
	Summary    *changeSummary   `json:"change_summary,omitempty" doc:"The last line of a directory."`
	Fleet      *fleetTotal      `json:"fleet_summary,omitempty" doc:"The last line of several directories."`
}

type begin struct {
	FormatVersion string    `json:"format_version"`
	Version       string    `json:"lkeplan_version,omitempty"`
	Base          *revision `json:"base,omitempty"`
	Head          *revision `json:"head,omitempty"`
	Rules         *revision `json:"rules,omitempty"`
	Failed        string    `json:"failed,omitempty" doc:"Why there is no plan of the directory."`
}

type changeSummary struct {
	summary
	Cost     *cost  `json:"cost" doc:"Of all pools together."`
	Digest   string `json:"plan_digest,omitempty" doc:"Of the saved plan."`
	ExitCode int    `json:"exit_code" doc:"What the command ends with."`
}

// WriteLines writes a line of JSON for each thing that the document says: what is
// compared, diagnostics, changes, migrations, drift, rolls, workloads, guards and notes, and
// last the sum of it all with the exit code of the command.
func (d Document) WriteLines(w io.Writer, exitCode int) error {
	return d.lines("", "", exitCode, func(l line) error { return encode(w, l, "") })
}

// lines hands the lines of a document over, one by one. Failed says why there is
// no plan.
func (d Document) lines(directory, failed string, exitCode int, write func(line) error) error {
	var err error
	put := func(l line) {
		if l.Directory = directory; err == nil {
			err = write(l)
		}
	}
	put(line{Type: "begin", Begin: &begin{d.FormatVersion, d.Version, d.Base, d.Head, d.Rules, failed}})
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
