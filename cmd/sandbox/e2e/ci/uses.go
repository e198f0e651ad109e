package ci

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// use runs an action: one of ours by its steps, a few others by an imitation.
func (j *run) use(s *scope, uses string, with map[string]any) (open, error) {
	name, _, _ := strings.Cut(uses, "@")
	if path, ours := strings.CutPrefix(name, "lkeplan/lkeplan/"); ours {
		return j.composite(s, filepath.Join(j.Here, path), with)
	}
	switch name {
	case "actions/checkout":
		return open{}, j.checkout(with)
	case "actions/setup-go":
		return open{}, nil // a test has no say in the Go that it runs with
	case "actions/upload-artifact":
		return open{}, j.upload(written(with["name"]), written(with["path"]))
	case "actions/download-artifact":
		return open{}, j.download(written(with["name"]), written(with["path"]))
	case "github/codeql-action/upload-sarif":
		return open{}, sarif(written(with["sarif_file"]))
	}
	return nil, fmt.Errorf("the action %s is not known here", name)
}

// composite runs the steps of an action in their own scope.
func (j *run) composite(outer *scope, dir string, with map[string]any) (open, error) {
	a, err := readAction(dir)
	if err != nil {
		return nil, err
	}
	inputs := map[string]any{}
	for name, input := range a.Inputs {
		given, ok := with[name]
		switch {
		case !ok && input.Required:
			return nil, fmt.Errorf("%s: the input %s is missing", dir, name)
		case !ok:
			if given, err = expand(written(input.Default), outer.context); err != nil {
				return nil, err
			}
		}
		inputs[name] = given
		delete(with, name)
	}
	for name := range with {
		return nil, fmt.Errorf("%s has no input %s", dir, name)
	}
	s := &scope{steps: map[string]any{}, env: outer.env}
	s.env["GITHUB_ACTION_PATH"] = dir
	s.context = map[string]any{"github": outer.context["github"], "runner": outer.context["runner"], "inputs": inputs,
		"steps": s.steps}
	if err := j.steps(s, a.Runs.Steps); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	outputs := open{}
	for name, output := range a.Outputs {
		if outputs[name], err = expand(output.Value, s.context); err != nil {
			return nil, err
		}
	}
	if s.failed != "" {
		return outputs, errFailed
	}
	return outputs, nil
}

// checkout makes a clone as actions/checkout does: detached where a pull request
// is checked out, and with one commit unless the depth says otherwise.
func (j *run) checkout(with map[string]any) error {
	fetch := []string{"fetch", "--quiet", "--no-tags"}
	if depth := cmp.Or(written(with["fetch-depth"]), "1"); depth == "0" {
		fetch = append(fetch, "origin", "+refs/heads/*:refs/remotes/origin/*")
	} else {
		fetch = append(fetch, "--depth="+depth, "origin")
	}
	branch, isBranch := strings.CutPrefix(j.Fetch, "refs/heads/")
	local := strings.Replace(j.Fetch, "refs/", "refs/remotes/", 1)
	checkout := []string{"checkout", "--quiet", "--detach", local}
	if isBranch {
		local = "refs/remotes/origin/" + branch
		checkout = []string{"checkout", "--quiet", "-B", branch, local}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"remote", "add", "origin", "file://" + j.Checkout},
		append(fetch, "+"+j.Fetch+":"+local),
		checkout,
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = j.workspace
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %s", strings.Join(args, " "), out)
		}
	}
	return nil
}

// upload keeps a file, or the files of a directory. No path, such as that of a step which
// failed, is refused.
func (j *run) upload(name, path string) error {
	if _, there := j.Artifacts[name]; there || name == "" || strings.ContainsAny(name, `":<>|*?/\`) {
		return fmt.Errorf("an artifact cannot be named %q, or there is one", name)
	}
	if path == "" {
		return errFailed
	}
	files := map[string][]byte{}
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(path, file)
		if rel == "." {
			rel = filepath.Base(file)
		}
		if err == nil {
			files[rel], err = os.ReadFile(file)
		}
		return err
	})
	j.Artifacts[name] = files
	return err
}

func (j *run) download(name, path string) error {
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

// sarif checks a report as code scanning does before it takes it. It refuses an empty
// file, which is what a step leaves that failed before it wrote.
func sarif(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return errFailed
	}
	var log struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &log); err != nil || log.Version != "2.1.0" {
		return fmt.Errorf("%s is not SARIF 2.1.0: %v", name, err)
	}
	return nil
}
