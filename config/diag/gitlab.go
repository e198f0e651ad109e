package diag

import (
	"io"
	"path/filepath"
)

// The parts of the Code Climate format that GitLab reads.
type (
	issue struct {
		Description string        `json:"description"`
		CheckName   string        `json:"check_name"`
		Fingerprint string        `json:"fingerprint"`
		Severity    string        `json:"severity"`
		Location    issueLocation `json:"location"`
	}
	issueLocation struct {
		Path  string     `json:"path"`
		Lines issueLines `json:"lines"`
	}
	issueLines struct {
		Begin int `json:"begin"`
	}
)

// CodeQuality writes diagnostics as a code quality report of GitLab, which shows it in the merge
// request. severity returns info, minor, major, critical or blocker; if it is nil, errors are
// critical and warnings minor.
func CodeQuality(w io.Writer, diags []Diagnostic, severity func(Diagnostic) string) error {
	issues := []issue{}
	seen := map[string]int{}
	for _, d := range diags {
		is := issue{Description: d.text(), CheckName: d.Rule, Fingerprint: d.fingerprint(seen), Severity: "critical"}
		switch {
		case severity != nil:
			is.Severity = severity(d)
		case d.Severity == "warning":
			is.Severity = "minor"
		}
		// A message without a file is about the directory.
		is.Location = issueLocation{".", issueLines{1}}
		if d.Range != nil {
			is.Location = issueLocation{filepath.ToSlash(d.Range.Filename), issueLines{max(1, d.Range.Start.Line)}}
		}
		issues = append(issues, is)
	}
	return JSON(w, issues)
}
