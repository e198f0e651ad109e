package report

import (
	"encoding/json"
	"io"

	"github.com/lkeplan/lkeplan/config/diag"
)

// GitLabTerraform writes the counts that GitLab shows in a merge request for
// artifacts:reports:terraform; none, which GitLab shows as an error, if a directory has no plan.
func GitLabTerraform(w io.Writer, r Report, _ Options) error {
	if r.Incomplete {
		_, err := io.WriteString(w, "{}\n")
		return err
	}
	s := r.Summary()
	return json.NewEncoder(w).Encode(struct {
		Create int `json:"create"`
		Update int `json:"update"`
		Delete int `json:"delete"`
	}{s.Create, s.Update, s.Delete})
}

// GitLabCodeQuality writes what a reviewer should check, for
// artifacts:reports:codequality.
func GitLabCodeQuality(w io.Writer, r Report, _ Options) error {
	return diag.CodeQuality(w, diagnostics(findings(r)), func(d diag.Diagnostic) string {
		switch {
		case d.Severity == "error":
			return "blocker"
		case d.Rule == deletesNodes:
			return "critical"
		case d.Rule == rollsNodes, d.Rule == mayRemoveNodes:
			return "major"
		}
		return "minor"
	})
}
