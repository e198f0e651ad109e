package ci

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Workflow is the supported part of a file of .github/workflows.
type Workflow struct {
	Permissions map[string]string `json:"permissions"`
	Env         map[string]any    `json:"env"`
	Defaults    struct {
		Run struct {
			Shell string `json:"shell"`
		} `json:"run"`
	} `json:"defaults"`
	Jobs map[string]Job `json:"jobs"`
}

// Job is one job of a workflow.
type Job struct {
	If          string            `json:"if"`
	Permissions map[string]string `json:"permissions"`
	Environment string            `json:"environment"`
	Env         map[string]any    `json:"env"`
	Outputs     map[string]string `json:"outputs"`
	Steps       []Step            `json:"steps"`
}

// Step is a script or an action.
type Step struct {
	ID              string         `json:"id"`
	Name            string         `json:"name"`
	If              string         `json:"if"`
	Uses            string         `json:"uses"`
	With            map[string]any `json:"with"`
	Run             string         `json:"run"`
	Shell           string         `json:"shell"`
	Env             map[string]any `json:"env"`
	ContinueOnError bool           `json:"continue-on-error"`
}

// action is an action.yml made of steps.
type action struct {
	Inputs map[string]struct {
		Default  any  `json:"default"`
		Required bool `json:"required"`
	} `json:"inputs"`
	Outputs map[string]struct {
		Value string `json:"value"`
	} `json:"outputs"`
	Runs struct {
		Using string `json:"using"`
		Steps []Step `json:"steps"`
	} `json:"runs"`
}

// ReadWorkflow reads a workflow. A script with an expression in it, or an action that
// is not pinned, is an error.
func ReadWorkflow(name string) (Workflow, error) {
	var w Workflow
	if err := read(name, &w); err != nil {
		return w, err
	}
	for _, job := range w.Jobs {
		for _, s := range job.Steps {
			if s.Run != "" && s.Shell == "" {
				s.Shell = w.Defaults.Run.Shell
			}
			if err := s.check(); err != nil {
				return w, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return w, nil
}

func readAction(dir string) (action, error) {
	var a action
	if err := read(dir+"/action.yml", &a); err != nil {
		return a, err
	}
	if a.Runs.Using != "composite" {
		return a, fmt.Errorf("%s is not made of steps", dir)
	}
	for _, s := range a.Runs.Steps {
		if err := s.check(); err != nil {
			return a, fmt.Errorf("%s: %w", dir, err)
		}
	}
	return a, nil
}

func read(name string, into any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

var pinned = regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)

// check finds what no workflow may contain.
func (s Step) check() error {
	switch {
	case (s.Run == "") == (s.Uses == ""):
		return fmt.Errorf("step %q has to run a script or to use an action", s.label())
	case strings.Contains(s.Run, "${{"):
		return fmt.Errorf("step %q has an expression in its script: whoever writes its value writes the script", s.label())
	case s.Run != "" && s.Shell != "bash":
		return fmt.Errorf("step %q has no shell that stops where a pipe breaks: say shell: bash", s.label())
	case s.Uses != "" && !pinned.MatchString(s.Uses):
		return fmt.Errorf("step %q uses %s, which may be something else tomorrow: pin a commit", s.label(), s.Uses)
	}
	return nil
}

// label is the name of a step in a log.
func (s Step) label() string {
	first, _, _ := strings.Cut(s.Run, "\n")
	return cmp.Or(s.Name, s.ID, s.Uses, first)
}
