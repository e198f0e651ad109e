package planjson

import (
	"io"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// Fleet is the plans of several directories.
type Fleet struct {
	FormatVersion string       `json:"format_version" doc:"The version of this form. A new minor one only adds."`
	Version       string       `json:"lkeplan_version,omitempty" doc:"The program that wrote it."`
	Directories   []Directory  `json:"directories" doc:"In order of their names."`
	NotReached    []string     `json:"not_reached" doc:"Directories that were not compiled: the change does not reach them."`
	Cost          *cost        `json:"cost" doc:"Of all pools of all directories together."`
	Summary       fleetSummary `json:"summary" doc:"Of all directories together; pools are named DIRECTORY:ADDRESS."`
}

// Directory is one directory of a Fleet.
type Directory struct {
	Directory string   `json:"directory"`
	Failed    string   `json:"failed,omitempty" doc:"Why there is no plan; diagnostics may say more."`
	Plan      Document `json:"plan" doc:"Without changes where there is no plan."`
}

type fleetSummary struct {
	summary
	Directories        int `json:"directories"`
	DirectoriesChanged int `json:"directories_changed"`
	DirectoriesRefused int `json:"directories_refused"`
	DirectoriesFailed  int `json:"directories_failed"`
	ExitCode           int `json:"exit_code" doc:"What the command ends with."`
}

// NewFleet puts plans together. The sum is the plan of all of them; unreached are
// directories that were not compiled.
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

// Write writes the plans as the definition fleet of Schema describes them.
func (f Fleet) Write(w io.Writer) error { return encode(w, f, "  ") }

// WriteLines writes the lines of each plan, which name their directory, and last
// the sum of all.
func (f Fleet) WriteLines(w io.Writer) error {
	for _, d := range f.Directories {
		if err := d.Plan.lines(d.Directory, d.Failed, f.Summary.ExitCode, func(l line) error {
			return encode(w, l, "")
		}); err != nil {
			return err
		}
	}
	return encode(w, line{Type: "fleet_summary", Fleet: &fleetTotal{f.Summary, f.Cost, f.NotReached}}, "")
}

type fleetTotal struct {
	fleetSummary
	Cost       *cost    `json:"cost"`
	NotReached []string `json:"not_reached"`
}
