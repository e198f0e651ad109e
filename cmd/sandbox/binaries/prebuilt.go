package binaries

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// askVersion asks a prebuilt program for its version.
func askVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	args := []string{"--version"}
	if filepath.Base(path) == Kubectl {
		args = []string{"version", "--client"}
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	version := versionIn(string(out))
	if version == "" {
		return "", fmt.Errorf("no version in %q", out)
	}
	return version, nil
}

// versionIn finds the first version number in the output of a program:
// "Kubernetes v1.36.4", "etcd Version: 3.6.8", "Client Version: v1.36.4".
func versionIn(text string) string {
	match := regexp.MustCompile(`\bv?(\d+\.\d+\.\d+[^\s,"]*)`).FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return "v" + match[1]
}

// minor is the part of a version in which components of one release agree.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
