package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Workflow is a file of .github/workflows, as far as the tests need it.
type Workflow struct {
	On          map[string]any    `json:"true"` // "on" is a boolean in YAML 1.1
	Permissions map[string]string `json:"permissions"`
	Env         map[string]any    `json:"env"`
	Defaults    struct {
		Run struct {
			Shell string `json:"shell"`
		} `json:"run"`
	} `json:"defaults"`
	Jobs map[string]struct {
		If          string            `json:"if"`
		Permissions map[string]string `json:"permissions"`
		Outputs     map[string]string `json:"outputs"`
		Steps       []Step            `json:"steps"`
	} `json:"jobs"`
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

// ReadWorkflow reads a workflow.
func ReadWorkflow(name string) (w Workflow, err error) {
	if err := readCI(name, &w); err != nil {
		return w, err
	}
	for _, job := range w.Jobs {
		err = errors.Join(err, checkSteps(name, job.Steps, w.Defaults.Run.Shell))
	}
	return w, err
}

func readCI(name string, into any) error {
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

// checkSteps finds what no workflow may contain. make lint finds what GitHub would not accept.
func checkSteps(name string, steps []Step, shell string) error {
	for _, s := range steps {
		switch {
		case strings.Contains(s.Run, "${{"):
			return fmt.Errorf("%s: %q has an expression in its script: who writes its value writes the script", name, s.label())
		case s.Run != "" && cmp.Or(s.Shell, shell) != "bash":
			return fmt.Errorf("%s: %q has no shell that stops where a pipe breaks: say shell: bash", name, s.label())
		case s.Run == "" && !pinned.MatchString(s.Uses):
			return fmt.Errorf("%s: %q uses what may be something else tomorrow: pin a commit", name, s.label())
		}
	}
	return nil
}

// label is the name of a step in a log.
func (s Step) label() string {
	first, _, _ := strings.Cut(s.Run, "\n")
	return cmp.Or(s.Name, s.ID, s.Uses, first)
}

// Runner has bash run the scripts of jobs, in the environment that the hosted runners of
// GitHub give them.
type Runner struct {
	Dir       string         // where work directories are made
	Origin    string         // the repository that is checked out
	Ref       string         // what of it is checked out: a branch, or a reference of a pull request
	Path      string         // a directory with programs that come before those of the machine
	Env       []string       // in addition to what runners set
	GitHub    map[string]any // the contexts of expressions
	Secrets   map[string]any
	Vars      map[string]any
	Inputs    map[string]any
	Artifacts map[string]map[string][]byte // that jobs have uploaded: the files of each, by name

	needs map[string]any // what the jobs so far have left for the next
}

// Result is the result of a job.
type Result struct {
	Skipped bool
	Failed  string // the step that failed; "" where none has
	Log     string // of all steps
	Summary string
	Temp    string // the job's own directory for files
}

// job is a running job.
type job struct {
	*Runner
	workspace, temp string
	path            string // with what steps have added
	log             strings.Builder
}

// scope is what the steps of a job share.
type scope struct {
	context map[string]any
	steps   map[string]any // of the context
	env     map[string]string
	failed  string // the first step that has; "" where none has
}

// Job runs a job of a workflow.
func (r *Runner) Job(w Workflow, name string) (res Result, err error) {
	if res.Temp, err = os.MkdirTemp(r.Dir, "job-"); err != nil {
		return res, err
	}
	j := &job{Runner: r, workspace: filepath.Join(res.Temp, "work"), temp: res.Temp,
		path: r.Path + string(os.PathListSeparator) + os.Getenv("PATH")}
	steps := map[string]any{}
	s := &scope{steps: steps, env: map[string]string{}, context: map[string]any{
		"github": r.GitHub, "secrets": r.Secrets, "vars": r.Vars, "inputs": r.Inputs, "needs": r.needs, "steps": steps,
		"runner": map[string]any{"temp": j.temp},
	}}
	if runs, err := s.value(w.Jobs[name].If); err != nil || runs == "false" {
		return Result{Skipped: true}, err
	}
	event, err := json.Marshal(r.GitHub["event"])
	if err == nil {
		err = errors.Join(os.Mkdir(j.workspace, 0o755), os.WriteFile(filepath.Join(j.temp, "event.json"), event, 0o644),
			s.set(w.Env), j.steps(s, w.Jobs[name].Steps))
	}
	outputs := map[string]any{}
	for key, text := range w.Jobs[name].Outputs {
		value, e := s.expand(text)
		outputs[key], err = value, errors.Join(err, e)
	}
	if r.needs == nil {
		r.needs = map[string]any{}
	}
	r.needs[name] = map[string]any{"outputs": outputs}
	summary, _ := os.ReadFile(filepath.Join(j.temp, "summary")) // none if no step wrote to it
	res.Failed, res.Log, res.Summary = s.failed, j.log.String(), string(summary)
	if err != nil {
		return res, fmt.Errorf("job %s: %w\n%s", name, err, res.Log)
	}
	return res, nil
}

// set adds variables.
func (s *scope) set(env map[string]any) (err error) {
	for key, value := range env {
		if s.env[key], err = s.expand(fmt.Sprint(value)); err != nil {
			return fmt.Errorf("variable %s: %w", key, err)
		}
	}
	return nil
}

// errFailed is the error of a step that ran and failed. Any other error means that the
// step is not supported.
var errFailed = errors.New("the step failed")

// steps runs steps in order. After a failure only those run whose condition asks for it.
func (j *job) steps(s *scope, steps []Step) error {
	for _, step := range steps {
		outputs, outcome := map[string]any{}, "skipped"
		runs, err := s.value(step.If)
		if s.failed != "" && !strings.Contains(step.If, "!cancelled()") {
			runs = "false"
		}
		if err == nil && runs != "false" {
			outcome = "success"
			outputs, err = j.step(s, step)
		}
		if errors.Is(err, errFailed) {
			outcome = "failure"
			if !step.ContinueOnError {
				s.failed = cmp.Or(s.failed, step.label())
			}
		} else if err != nil {
			return fmt.Errorf("step %q: %w", step.label(), err)
		}
		s.steps[step.ID] = map[string]any{"outputs": outputs, "outcome": outcome}
	}
	return nil
}

// step runs one step and returns its outputs.
func (j *job) step(s *scope, step Step) (map[string]any, error) {
	fmt.Fprintf(&j.log, "== %s\n", step.label())
	inner := &scope{context: s.context, env: maps.Clone(s.env)}
	if err := inner.set(step.Env); err != nil {
		return nil, err
	}
	if step.Run != "" {
		return j.script(inner.env, step.Run)
	}
	with := map[string]string{}
	for key, value := range step.With {
		var err error
		if with[key], err = s.expand(fmt.Sprint(value)); err != nil {
			return nil, fmt.Errorf("input %s: %w", key, err)
		}
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(step.Uses, "https://github.com/"), "@")
	switch name {
	case "actions/checkout":
		return nil, clone(j.workspace, j.Origin, j.Ref, cmp.Or(with["fetch-depth"], "1"))
	case "actions/setup-go":
		return nil, nil // a test has no say in the Go that it runs with
	case "actions/upload-artifact":
		return nil, j.upload(with["name"], with["path"])
	case "actions/download-artifact":
		return nil, j.download(with["name"], with["path"])
	}
	return nil, fmt.Errorf("the action %s is not known here", name)
}

// script runs a script, and reads its outputs and additions to the PATH.
func (j *job) script(env map[string]string, script string) (map[string]any, error) {
	environ := append(slices.Clone(j.Env), "PATH="+j.path, "HOME="+j.temp, "CI=true", "GITHUB_ACTIONS=true",
		"GITHUB_WORKSPACE="+j.workspace, "RUNNER_TEMP="+j.temp, "GITHUB_STEP_SUMMARY="+filepath.Join(j.temp, "summary"),
		"GITHUB_EVENT_PATH="+filepath.Join(j.temp, "event.json"))
	for key, value := range j.GitHub {
		if text, ok := value.(string); ok && key != "token" {
			environ = append(environ, "GITHUB_"+strings.ToUpper(key)+"="+text)
		}
	}
	for key, value := range env {
		environ = append(environ, key+"="+value)
	}
	written := map[string]string{"GITHUB_OUTPUT": "", "GITHUB_PATH": ""}
	for name := range written {
		file := filepath.Join(j.temp, name)
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			return nil, err
		}
		environ = append(environ, name+"="+file)
	}
	log, code, err := bash(j.workspace, environ, "-u", script)
	j.log.WriteString(log)
	for name := range written {
		text, e := os.ReadFile(filepath.Join(j.temp, name))
		written[name], err = string(text), errors.Join(err, e)
	}
	for dir := range strings.FieldsSeq(written["GITHUB_PATH"]) {
		j.path = dir + string(os.PathListSeparator) + j.path
	}
	outputs := map[string]any{}
	for line := range strings.Lines(written["GITHUB_OUTPUT"]) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			return nil, fmt.Errorf("GITHUB_OUTPUT has a line without a value: %q", line)
		}
		outputs[key] = value
	}
	if err == nil && code != 0 {
		err = errFailed
	}
	return outputs, err
}

// upload keeps a file, or the files of a directory. No path, such as that of a step which
// failed, is refused.
func (j *job) upload(name, path string) error {
	if _, there := j.Artifacts[name]; there || name == "" || strings.ContainsAny(name, `":<>|*?/\`) {
		return fmt.Errorf("an artifact cannot be named %q, or there is one", name)
	}
	if path == "" {
		return errFailed
	}
	files := map[string][]byte{}
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[filepath.Base(file)], err = os.ReadFile(file) // no artifact of the examples has directories
		}
		return err
	})
	j.Artifacts[name] = files
	return err
}

func (j *job) download(name, path string) error {
	files, ok := j.Artifacts[name]
	if !ok {
		return fmt.Errorf("there is no artifact %q", name)
	}
	for file, data := range files {
		if err := os.WriteFile(filepath.Join(path, file), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
