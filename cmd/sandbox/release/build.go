package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build builds a program for a platform into a separate directory and returns its path.
// It links no C, and knows neither the directory that it was built in nor symbols.
func (r *release) build(ctx context.Context, program string, p platform) (string, error) {
	name := program
	if p.os == "windows" {
		name += ".exe"
	}
	out := filepath.Join(r.dir, "programs", p.os+"_"+p.arch, name)
	_, err := r.run(ctx, []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOFLAGS="},
		"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", out, "./cmd/"+program)
	if err != nil {
		return "", fmt.Errorf("build %s for %s: %w", program, p, err)
	}
	return out, nil
}

// charts packs both charts, for the image of the same version: in a clone of the source the chart has no image.
func (r *release) charts(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "lkeplan-chart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(r.root, "kube/chart"))); err != nil {
		return fmt.Errorf("copy the chart: %w", err)
	}
	about := filepath.Join(dir, "Chart.yaml")
	text, err := os.ReadFile(about)
	if err != nil {
		return err
	}
	before, after, ok := strings.Cut(string(text), "\nannotations:\n")
	if !ok {
		return errors.New("kube/chart/Chart.yaml has no annotations to add the image to")
	}
	text = []byte(before + "\nannotations:\n  lkeplan.dev/image: " + repository + "\n" + after)
	if err := os.WriteFile(about, text, 0o600); err != nil {
		return err
	}
	_, err = r.run(ctx, nil, "go", "tool", "-modfile=tools.mod", "helm", "package", dir, "kube/chart-crds",
		"--version", r.version, "--app-version", r.version, "--destination", r.dir)
	if err != nil {
		return fmt.Errorf("pack the charts: %w", err)
	}
	return r.checksums()
}

func (r *release) git(ctx context.Context, args ...string) (string, error) {
	return r.run(ctx, nil, "git", args...)
}

// run runs a program in the repository.
func (r *release) run(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = r.root, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
}
