package diag

import (
	"io"
	"path/filepath"
)

// CodeQuality writes diagnostics as a code quality report of GitLab, which shows it in the merge
// request: the parts of the Code Climate format that GitLab reads. severity returns info, minor, major, critical or blocker; if it is nil, errors are
// critical and warnings minor.
func CodeQuality(w io.Writer, diags []Diagnostic, severity func(Diagnostic) string) error {
	issues := []fields{}
	seen := map[string]int{}
	for _, d := range diags {
		level := "critical"
		switch {
		case severity != nil:
			level = severity(d)
		case d.Severity == "warning":
			level = "minor"
		}
		path, line := ".", 1 // a message without a file is about the directory
		if d.Range != nil {
			path, line = filepath.ToSlash(d.Range.Filename), max(1, d.Range.Start.Line)
		}
		issues = append(issues, fields{
			"description": d.text(), "check_name": d.Rule, "fingerprint": d.fingerprint(seen), "severity": level,
			"location": fields{"path": path, "lines": fields{"begin": line}},
		})
	}
	return JSON(w, issues)
}
