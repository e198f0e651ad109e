package ci

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
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

// GitLabJob is a job, merged with the jobs that it extends.
type GitLabJob struct {
	Extends      string            `json:"extends"`
	Variables    map[string]string `json:"variables"`
	BeforeScript []string          `json:"before_script"`
	Script       []string          `json:"script"`
	Rules        []struct {
		If   string `json:"if"`
		When string `json:"when"`
	} `json:"rules"`
	Artifacts struct {
		Paths   []string          `json:"paths"`
		Reports map[string]string `json:"reports"`
	} `json:"artifacts"`
}

var input = regexp.MustCompile(`\$\[\[ inputs\.([a-z_]+) \]\]`)

// ReadTemplate reads a template with these inputs. A script that uses an input is an
// error: its value could be commands.
func ReadTemplate(name string, inputs map[string]string) (Template, error) {
	t := Template{Jobs: map[string]GitLabJob{}}
	text, err := os.ReadFile(name)
	if err != nil {
		return t, err
	}
	head, body, ok := strings.Cut(string(text), "\n---\n")
	if !ok {
		return t, fmt.Errorf("%s has no inputs", name)
	}
	var spec struct {
		Spec struct {
			Inputs map[string]templateInput `json:"inputs"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(head), &spec); err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	if err := constant(body); err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	for key, def := range spec.Spec.Inputs {
		value, err := def.value(inputs, key)
		if err != nil {
			return t, fmt.Errorf("%s: the input %s %w", name, key, err)
		}
		body = strings.ReplaceAll(body, "$[[ inputs."+key+" ]]", value)
	}
	if left := input.FindString(body); left != "" {
		return t, fmt.Errorf("%s: %s is not an input", name, left)
	}
	if err := yaml.Unmarshal([]byte(body), &t.Jobs); err != nil {
		return t, fmt.Errorf("%s: %w", name, err)
	}
	for name, job := range t.Jobs {
		t.Jobs[name] = job.extended(t.Jobs[job.Extends])
	}
	return t, nil
}

// templateInput is an input's specification.
type templateInput struct {
	Default *string `json:"default"`
	Regex   string  `json:"regex"`
}

// value is the given value of an input, or else its default.
func (i templateInput) value(given map[string]string, key string) (string, error) {
	value, ok := given[key]
	switch {
	case !ok && i.Default == nil:
		return "", errors.New("is missing")
	case !ok:
		return *i.Default, nil
	case !regexp.MustCompile(i.Regex).MatchString(value):
		return "", fmt.Errorf("is not like %s", i.Regex)
	}
	return value, nil
}

// constant checks that no script of the jobs has an input in it.
func constant(body string) error {
	var jobs map[string]GitLabJob
	if err := yaml.Unmarshal([]byte(body), &jobs); err != nil {
		return err
	}
	for name, job := range jobs {
		for _, line := range slices.Concat(job.BeforeScript, job.Script) {
			if strings.Contains(line, "$[[") {
				return fmt.Errorf("the job %s has an input in its script: whoever writes its value writes the script", name)
			}
		}
	}
	return nil
}

func (j GitLabJob) extended(base GitLabJob) GitLabJob {
	variables := map[string]string{}
	maps.Copy(variables, base.Variables)
	maps.Copy(variables, j.Variables)
	if j.Variables = variables; j.BeforeScript == nil {
		j.BeforeScript = base.BeforeScript
	}
	return j
}

// Checkout makes a clone for a job as GitLab's runner does: of one reference, detached, as
// deep as GIT_DEPTH says, and by default twenty commits; 0 fetches all branches.
func (t Template) Checkout(name, dir, origin, ref string) error {
	fetch := []string{"fetch", "--quiet", "origin", "+" + ref + ":" + ref}
	if depth := cmp.Or(t.Jobs[name].Variables["GIT_DEPTH"], "20"); depth == "0" {
		fetch = append(fetch, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
	} else {
		fetch = slices.Insert(fetch, 1, "--depth="+depth)
	}
	for _, args := range [][]string{
		{"init", "--quiet", dir}, {"remote", "add", "origin", "file://" + origin}, fetch,
		{"checkout", "--quiet", "--detach", ref},
	} {
		if args[0] != "init" {
			args = slices.Insert(args, 0, "-C", dir)
		}
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %s", strings.Join(args, " "), out)
		}
	}
	return nil
}

// Run runs a job in a directory, with the variables that GitLab sets. The job's
// artifacts must exist when it ends.
func (t Template) Run(name, dir string, predefined map[string]string) (log string, code int, err error) {
	job, ok := t.Jobs[name]
	if !ok {
		return "", 0, fmt.Errorf("there is no job %q", name)
	}
	var out bytes.Buffer
	script := strings.Join(slices.Concat(job.BeforeScript, job.Script), "\n")
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(cmd.Env, "PATH="+t.Path+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+dir, "GITLAB_CI=true",
		"CI=true", "CI_PROJECT_DIR="+dir)
	for key, value := range predefined {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	for key, value := range job.Variables {
		cmd.Env = append(cmd.Env, key+"="+os.Expand(value, func(name string) string {
			if name == "CI_PROJECT_DIR" {
				return dir
			}
			return predefined[name]
		}))
	}
	err = cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code, err = failed.ExitCode(), nil
	}
	return out.String(), code, err
}
