package planjson

import (
	"io"

	"github.com/lkeplan/lkeplan/config/diag"
)

// line is one line of WriteLines: its type, and what belongs to it under the name
// of the type.
type line struct {
	Type       string           `json:"type" doc:"begin, diagnostic, resource_change, migration, resource_drift, guard, note or change_summary: the name of the member that follows."`
	Begin      *begin           `json:"begin,omitempty"`
	Diagnostic *diag.Diagnostic `json:"diagnostic,omitempty"`
	Change     *resourceChange  `json:"resource_change,omitempty"`
	Migration  *migration       `json:"migration,omitempty"`
	Drift      *resourceDrift   `json:"resource_drift,omitempty" doc:"With one field."`
	Guard      *guard           `json:"guard,omitempty"`
	Note       string           `json:"note,omitempty"`
	Summary    *changeSummary   `json:"change_summary,omitempty" doc:"The last line."`
}

type begin struct {
	FormatVersion string    `json:"format_version"`
	Version       string    `json:"lkeplan_version,omitempty"`
	Base          *revision `json:"base,omitempty"`
	Head          *revision `json:"head,omitempty"`
	Rules         *revision `json:"rules,omitempty"`
}

type changeSummary struct {
	summary
	Cost     *cost  `json:"cost" doc:"Of all pools together."`
	Digest   string `json:"plan_digest,omitempty" doc:"Of the saved plan."`
	ExitCode int    `json:"exit_code" doc:"What the command ends with."`
}

// WriteLines writes a line of JSON for each thing that the document says: what is
// compared, diagnostics, changes, migrations, drift, guards and notes, and last
// the sum of it all with the exit code of the command.
func (d Document) WriteLines(w io.Writer, exitCode int) error {
	var err error
	put := func(l line) {
		if err == nil {
			err = encode(w, l, "")
		}
	}
	put(line{Type: "begin", Begin: &begin{d.FormatVersion, d.Version, d.Base, d.Head, d.Rules}})
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
	for _, g := range d.Guards {
		put(line{Type: "guard", Guard: &g})
	}
	for _, text := range d.Notes {
		put(line{Type: "note", Note: text})
	}
	put(line{Type: "change_summary", Summary: &changeSummary{d.Summary, d.Cost, d.Digest, exitCode}})
	return err
}
