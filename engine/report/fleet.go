package report

import "github.com/lkeplan/lkeplan/engine/plan"

// Fleet is the plans of several directories.
type Fleet struct {
	FormatVersion string               `json:"format_version" doc:"The version of this format."`
	Version       string               `json:"lkeplan_version,omitempty" doc:"The version of the program that wrote it."`
	Directories   plan.List[Directory] `json:"directories" doc:"Sorted by name."`
	NotReached    plan.List[string]    `json:"not_reached" doc:"Directories that were not compiled, because the change does not affect them."`
	Cost          *cost                `json:"cost" doc:"The cost of all pools of all directories together."`
	Summary       fleetSummary         `json:"summary" doc:"The sum of all directories. Pools are named DIRECTORY:ADDRESS."`
}

// Directory is one directory of a Fleet.
type Directory struct {
	Directory string   `json:"directory"`
	Failed    string   `json:"failed,omitempty" doc:"Why there is no plan. Diagnostics may have more details."`
	Plan      Document `json:"plan" doc:"It has no changes if there is no plan."`
}

type fleetSummary struct {
	plan.Summary
	Directories        int `json:"directories"`
	DirectoriesChanged int `json:"directories_changed"`
	DirectoriesRefused int `json:"directories_refused"`
	DirectoriesFailed  int `json:"directories_failed"`
	ExitCode           int `json:"exit_code" doc:"The exit code of the command."`
}

// fleet returns the report of several directories as JSON.
func (r Report) fleet(o Options) Fleet {
	f := Fleet{
		FormatVersion: FormatVersion, Version: o.Version, NotReached: r.Unreached, Cost: costsOf(r.Plan),
		Summary: fleetSummary{Summary: r.Summary(), Directories: len(r.Parts), ExitCode: r.ExitCode},
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
