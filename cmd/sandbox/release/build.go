package main

import (
	"context"
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

// chart packs the chart, for the image of the same version.
func (r *release) chart(ctx context.Context) error {
	_, err := r.run(ctx, nil, "go", "tool", "-modfile=tools.mod", "helm", "package", "kube/chart", "--version", r.version,
		"--app-version", r.version, "--destination", r.dir)
	if err != nil {
		return fmt.Errorf("pack the chart: %w", err)
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
