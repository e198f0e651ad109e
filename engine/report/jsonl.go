package report

import (
	"io"
	"iter"

	"github.com/lkeplan/lkeplan/config/diag"
)

// line is one message of the stream in JSON: its type, and what belongs to it
// under the name of the type.
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

// JSONLines writes each message as one line of JSON, as it comes.
func JSONLines(w io.Writer, messages iter.Seq[Message], o Options) error {
	for m := range messages {
		if err := encode(w, lineOf(m, o), ""); err != nil {
			return err
		}
	}
	return nil
}

func lineOf(m Message, o Options) line {
	switch m := m.(type) {
	case Begin:
		return line{Type: "begin", Begin: &begin{FormatVersion, o.Version, revisionOf(m.Base), revisionOf(m.Head)}}
	case Diagnostic:
		return line{Type: "diagnostic", Diagnostic: &m.Diagnostic}
	case Change:
		c := resourceChangeOf(m.Change)
		return line{Type: "resource_change", Change: &c}
	case Migration:
		steps := migrationOf(m.Migration)
		return line{Type: "migration", Migration: &steps}
	case Drift:
		return line{Type: "resource_drift", Drift: &addDrift(nil, m.Drift)[0]}
	case Verdict:
		g := guardOf(m.Verdict)
		return line{Type: "guard", Guard: &g}
	case Note:
		return line{Type: "note", Note: m.Text}
	case Summary:
		sum := changeSummary{summaryOf(m), costOf(&m.Before, &m.After, m.Current), m.Digest, m.ExitCode}
		return line{Type: "change_summary", Summary: &sum}
	}
	return line{}
}
