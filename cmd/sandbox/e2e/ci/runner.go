package ci

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Runner runs jobs as the hosted runners of GitHub do.
type Runner struct {
	Dir       string         // where work directories are made
	Checkout  string         // the repository that is checked out
	Fetch     string         // what of it is checked out: a branch, or a reference of a pull request
	Here      string         // the repository that lkeplan/lkeplan stands for
	Path      string         // a directory with programs that come before those of the machine
	Env       []string       // besides what runners set themselves
	GitHub    map[string]any // the contexts of expressions
	Secrets   map[string]any
	Vars      map[string]any
	Inputs    map[string]any
	Artifacts map[string]map[string][]byte // that jobs have uploaded: the files of each, by name
}

// Result is the result of a job.
type Result struct {
	Skipped bool
	Failed  string // the step that failed; "" where none has
	Outputs map[string]string
	Log     string // of all steps
	Summary string
	Temp    string // the job's own directory for files
}

// run is a running job.
type run struct {
	*Runner
	workspace, temp string
	path            []string // added by steps
	log             bytes.Buffer
}

// scope is the context that the steps of a job, or of one action, share.
type scope struct {
	context map[string]any
	steps   map[string]any
	env     map[string]string
	failed  string // the first step that has; "" where none has
}

// Job runs a job. matrix has the values that it runs for, needs the outputs of the
// jobs before it.
func (r *Runner) Job(w Workflow, name string, matrix map[string]any, needs map[string]map[string]string) (Result,
	error) {
	job, ok := w.Jobs[name]
	if !ok {
		return Result{}, fmt.Errorf("there is no job %q", name)
	}
	dir, err := os.MkdirTemp(r.Dir, "job-")
	if err != nil {
		return Result{}, err
	}
	j := &run{Runner: r, workspace: filepath.Join(dir, "work"), temp: filepath.Join(dir, "temp")}
	for _, dir := range []string{j.workspace, j.temp} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return Result{}, err
		}
	}
	before := map[string]any{}
	for job, outputs := range needs {
		values := open{}
		for key, value := range outputs {
			values[key] = value
		}
		before[job] = map[string]any{"outputs": values}
	}
	steps := map[string]any{}
	s := &scope{steps: steps, env: map[string]string{}, context: map[string]any{
		"github": r.GitHub, "secrets": r.Secrets, "vars": r.Vars, "inputs": r.Inputs, "matrix": matrix, "needs": before,
		"steps":  steps,
		"runner": map[string]any{"temp": j.temp}, "strategy": map[string]any{"job-index": 0},
	}}
	if job.If != "" {
		if yes, err := condition(job.If, s.context); err != nil || !yes {
			return Result{Skipped: true}, err
		}
	}
	for _, env := range []map[string]any{w.Env, job.Env} {
		if err := s.set(env); err != nil {
			return Result{}, err
		}
	}
	if err := j.steps(s, job.Steps); err != nil {
		return Result{}, fmt.Errorf("job %s: %w\n%s", name, err, j.log.String())
	}
	return j.result(s, job)
}

func (j *run) result(s *scope, job Job) (Result, error) {
	summary, _ := os.ReadFile(filepath.Join(j.temp, "summary")) // none where no step wrote to it
	res := Result{Failed: s.failed, Outputs: map[string]string{}, Log: j.log.String(), Summary: string(summary),
		Temp: j.temp}
	for key, text := range job.Outputs {
		value, err := expand(text, s.context)
		if err != nil {
			return res, err
		}
		res.Outputs[key] = value
	}
	return res, nil
}

// set adds variables.
func (s *scope) set(env map[string]any) error {
	for key, value := range env {
		text, err := expand(written(value), s.context)
		if err != nil {
			return fmt.Errorf("variable %s: %w", key, err)
		}
		s.env[key] = text
	}
	return nil
}

// steps runs steps in order.
func (j *run) steps(s *scope, steps []Step) error {
	for _, step := range steps {
		s.context["status"] = map[bool]string{false: "success", true: "failure"}[s.failed != ""]
		runs, err := s.runs(step)
		if err != nil {
			return fmt.Errorf("step %q: %w", step.label(), err)
		}
		outputs, outcome := open{}, "skipped"
		if runs {
			outputs, err = j.step(s, step)
			outcome = "success"
		}
		failed := errors.Is(err, errFailed)
		switch {
		case failed && !step.ContinueOnError:
			s.failed = cmp.Or(s.failed, step.label())
		case err != nil && !failed:
			return fmt.Errorf("step %q: %w", step.label(), err)
		}
		if failed {
			outcome = "failure"
		}
		if step.ID != "" {
			s.steps[step.ID] = map[string]any{"outputs": outputs, "outcome": outcome}
		}
	}
	return nil
}

// runs reports whether a step runs. After a failure only steps with a status function
// in their condition run.
func (s *scope) runs(step Step) (bool, error) {
	asks := func(function string) bool { return strings.Contains(step.If, function) }
	if s.failed != "" && !asks("always()") && !asks("cancelled()") && !asks("failure()") {
		return false, nil
	}
	if step.If == "" {
		return true, nil
	}
	return condition(step.If, s.context)
}

// errFailed is the error of a step that ran and failed. Any other error means that the
// step is not supported.
var errFailed = errors.New("the step failed")

// step runs one step and returns its outputs.
func (j *run) step(s *scope, step Step) (open, error) {
	fmt.Fprintf(&j.log, "== %s\n", step.label())
	inner := &scope{context: s.context, steps: s.steps, env: maps.Clone(s.env)}
	if err := inner.set(step.Env); err != nil {
		return nil, err
	}
	if step.Uses == "" {
		return j.script(inner, step.Run)
	}
	with := map[string]any{}
	for key, value := range step.With {
		text, err := expand(written(value), s.context)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", key, err)
		}
		with[key] = text
	}
	return j.use(inner, step.Uses, with)
}

// script runs a script and reads its outputs and additions to the PATH.
func (j *run) script(s *scope, script string) (open, error) {
	files := map[string]string{}
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_PATH"} {
		f, err := os.CreateTemp(j.temp, strings.ToLower(name)+".*")
		if err != nil {
			return nil, err
		}
		files[name] = f.Name()
		f.Close()
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-euo", "pipefail", "-c", script)
	cmd.Dir = j.workspace
	var err error
	if cmd.Env, err = j.environment(s, files); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = &j.log, &j.log
	ended := cmd.Run()
	if _, failed := errors.AsType[*exec.ExitError](ended); failed {
		ended = errFailed
	}
	if text, err := os.ReadFile(files["GITHUB_PATH"]); err == nil {
		j.path = append(j.path, strings.Fields(string(text))...)
	}
	outputs, err := readOutputs(files["GITHUB_OUTPUT"])
	if err != nil {
		return nil, err
	}
	return outputs, ended
}

// environment is the environment of a script.
func (j *run) environment(s *scope, files map[string]string) ([]string, error) {
	env := slices.Clone(j.Env)
	path := strings.Join(append(slices.Clone(j.path), j.Path, os.Getenv("PATH")), string(os.PathListSeparator))
	env = append(env, "PATH="+path, "HOME="+j.temp, "CI=true", "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+j.workspace,
		"RUNNER_TEMP="+j.temp, "GITHUB_STEP_SUMMARY="+filepath.Join(j.temp, "summary"))
	for key, value := range j.GitHub {
		if text, ok := value.(string); ok {
			env = append(env, "GITHUB_"+strings.ToUpper(key)+"="+text)
		}
	}
	event := filepath.Join(j.temp, "event.json")
	text, err := json.Marshal(j.GitHub["event"])
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(event, text, 0o644); err != nil {
		return nil, err
	}
	env = append(env, "GITHUB_EVENT_PATH="+event)
	for _, more := range []map[string]string{files, s.env} {
		for key, value := range more {
			env = append(env, key+"="+value)
		}
	}
	return env, nil
}

func readOutputs(name string) (open, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	outputs := open{}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			return nil, fmt.Errorf("GITHUB_OUTPUT has a line without a value: %q", line)
		}
		outputs[key] = value
	}
	return outputs, nil
}

// Commands lists the workflow commands in a log, as runners find them: :: at the
// beginning of a line and ##[ anywhere, until the step stops them with
// ::stop-commands::.
func Commands(log string) (commands []string) {
	stopped := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		switch {
		case stopped != "":
			if line == "::"+stopped+"::" {
				stopped = ""
			}
		case strings.HasPrefix(line, "::stop-commands::"):
			stopped = strings.TrimPrefix(line, "::stop-commands::")
		case strings.HasPrefix(line, "::"), strings.Contains(line, "##["):
			commands = append(commands, line)
		}
	}
	return commands
}
