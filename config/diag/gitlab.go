package diag

import (
	"io"
	"path/filepath"
)

// The parts of Code Climate's issues that GitLab reads.
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

// CodeQuality writes diagnostics as a report of code quality for GitLab, which
// shows it in the merge request. Severity says how grave one is: info, minor,
// major, critical or blocker; nil stands for critical errors and minor warnings.
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
		// What is about no file is about the directory.
		is.Location = issueLocation{".", issueLines{1}}
		if d.Range != nil {
			is.Location = issueLocation{filepath.ToSlash(d.Range.Filename), issueLines{max(1, d.Range.Start.Line)}}
		}
		issues = append(issues, is)
	}
	return JSON(w, issues)
}
