package report

import (
	"io"

	"github.com/lkeplan/lkeplan/config/diag"
)

// line is one line of JSONLines: its type, and what belongs to it under the name
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
}

type changeSummary struct {
	summary
	Cost     *cost  `json:"cost" doc:"Of all pools together."`
	Digest   string `json:"plan_digest,omitempty" doc:"Of the saved plan."`
	ExitCode int    `json:"exit_code" doc:"What the command ends with."`
}

// JSONLines writes a line of JSON for each thing that a report says, for programs
// that read a stream: what is compared, diagnostics, changes, migrations, drift,
// guards and notes, and the sum of it all.
func JSONLines(w io.Writer, r Report, o Options) error {
	var err error
	put := func(l line) {
		if err == nil {
			err = encode(w, l, "")
		}
	}
	put(line{Type: "begin", Begin: &begin{FormatVersion, o.Version, revisionOf(r.Base), revisionOf(r.Head)}})
	for _, d := range r.Diagnostics {
		put(line{Type: "diagnostic", Diagnostic: &d})
	}
	for _, c := range r.Changes {
		change := resourceChangeOf(c)
		put(line{Type: "resource_change", Change: &change})
	}
	for _, m := range r.Migrations {
		steps := migrationOf(m)
		put(line{Type: "migration", Migration: &steps})
	}
	for _, d := range r.Drift {
		put(line{Type: "resource_drift", Drift: &addDrift(nil, d)[0]})
	}
	for _, v := range r.Verdicts {
		g := guardOf(v)
		put(line{Type: "guard", Guard: &g})
	}
	for _, text := range r.Notes {
		put(line{Type: "note", Note: text})
	}
	sum := changeSummary{summaryOf(r), costOf(&r.Before, &r.After, r.Current), r.Digest, r.ExitCode}
	put(line{Type: "change_summary", Summary: &sum})
	return err
}
