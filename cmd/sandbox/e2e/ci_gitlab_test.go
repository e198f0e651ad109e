package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Template is a file of GitLab CI with inputs.
type Template struct {
	Path string // a directory with programs that come before those of the machine
	Jobs map[string]GitLabJob
}

// GitLabJob is a job, merged with the job that it extends.
type GitLabJob struct {
	Extends      string            `json:"extends"`
	Variables    map[string]string `json:"variables"`
	BeforeScript []string          `json:"before_script"`
	Script       []string          `json:"script"`
	Rules        []struct {
		If   string `json:"if"`
		When string `json:"when"`
	} `json:"rules"`
	Interruptible bool `json:"interruptible"`
	Artifacts     struct {
		Paths []string `json:"paths"`
	} `json:"artifacts"`
}

// ReadTemplate reads a template with a version of lkeplan, and the defaults of all other
// inputs. A script that uses an input is an error: its value could be commands.
func ReadTemplate(name, version string) (Template, error) {
	t := Template{Jobs: map[string]GitLabJob{}}
	text, err := os.ReadFile(name)
	if err != nil {
		return t, err
	}
	var header struct {
		Spec struct {
			Inputs map[string]struct {
				Default string `json:"default"`
				Regex   string `json:"regex"`
			} `json:"inputs"`
		} `json:"spec"`
	}
	head, body, found := strings.Cut(string(text), "\n---\n")
	if !found { // a file without inputs
		head, body = "", head
	}
	raw := map[string]GitLabJob{}
	if err := errors.Join(yaml.Unmarshal([]byte(head), &header), yaml.Unmarshal([]byte(body), &raw)); err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	for job, j := range raw {
		if strings.Contains(strings.Join(slices.Concat(j.BeforeScript, j.Script), "\n"), "$[[") {
			return t, fmt.Errorf("%s: the job %s has an input in its script: who writes its value writes the script", name, job)
		}
	}
	for key, input := range header.Spec.Inputs {
		value := input.Default
		if key == "version" {
			value = version
		}
		if value == "" || !regexp.MustCompile(input.Regex).MatchString(value) {
			return t, fmt.Errorf("%s: the input %s cannot be %q", name, key, value)
		}
		body = strings.ReplaceAll(body, "$[[ inputs."+key+" ]]", value)
	}
	if _, left, unknown := strings.Cut(body, "$[["); unknown {
		return t, fmt.Errorf("%s: no input is %.30q", name, left)
	}
	if err := yaml.Unmarshal([]byte(body), &t.Jobs); err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	for name, job := range t.Jobs {
		base := t.Jobs[job.Extends]
		variables := map[string]string{}
		maps.Copy(variables, base.Variables)
		maps.Copy(variables, job.Variables)
		if job.Variables = variables; job.BeforeScript == nil {
			job.BeforeScript = base.BeforeScript
		}
		t.Jobs[name] = job
	}
	return t, nil
}

// Starts lists the jobs of a pipeline with these variables, as far as their rules decide.
func (t Template) Starts(variables map[string]string) (names []string) {
	holds := func(term string) bool {
		for _, operator := range []string{" == ", " != "} {
			if left, right, found := strings.Cut(term, operator); found {
				value := strings.Trim(right, `"`)
				if strings.HasPrefix(right, "$") {
					value = variables[right[1:]]
				}
				return (variables[left[1:]] == value) == (operator == " == ")
			}
		}
		return variables[term[1:]] != ""
	}
	for name, job := range t.Jobs {
		for _, rule := range job.Rules {
			if !slices.ContainsFunc(strings.Split(rule.If, " && "), func(term string) bool { return !holds(term) }) {
				names = append(names, strings.TrimSpace(name+" "+rule.When))
				break
			}
		}
	}
	slices.Sort(names)
	return names
}

// Checkout makes a clone for a job as GitLab's runner does: as deep as GIT_DEPTH says, and
// by default twenty commits.
func (t Template) Checkout(name, dir, origin, ref string) error {
	return clone(dir, origin, ref, cmp.Or(t.Jobs[name].Variables["GIT_DEPTH"], "20"))
}

// Run runs a job in a directory, with the variables that GitLab sets.
func (t Template) Run(name, dir string, predefined map[string]string) (log string, code int, err error) {
	job, ok := t.Jobs[name]
	if !ok {
		return "", 0, fmt.Errorf("there is no job %q", name)
	}
	environ := []string{"PATH=" + t.Path + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "GITLAB_CI=true",
		"CI=true", "CI_PROJECT_DIR=" + dir, "GOBIN=" + t.Path}
	for key, value := range predefined {
		environ = append(environ, key+"="+value)
	}
	for key, value := range job.Variables {
		environ = append(environ, key+"="+strings.ReplaceAll(value, "$CI_PROJECT_DIR", dir))
	}
	return bash(dir, environ, "+u", strings.Join(slices.Concat(job.BeforeScript, job.Script), "\n"))
}
