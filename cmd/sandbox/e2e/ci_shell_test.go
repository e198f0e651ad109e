package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// bash runs a script as runners do, in a directory, and returns what it printed and its
// exit code.
func bash(dir string, environ []string, option, script string) (log string, code int, err error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", option, "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, environ
	out, err := cmd.CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), failed.ExitCode(), nil
	}
	return string(out), 0, err
}

// clone makes a clone as runners do: of a branch, or detached of another reference, with as
// many commits as depth says, or where that is 0 with all, and all branches.
func clone(dir, origin, ref, depth string) error {
	local := strings.Replace(ref, "refs/", "refs/remotes/", 1)
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	checkout := []string{"checkout", "--quiet", "--detach", local}
	if isBranch {
		local = "refs/remotes/origin/" + branch
		checkout = []string{"checkout", "--quiet", "-B", branch, local}
	}
	fetch := []string{"fetch", "--quiet", "--no-tags", "origin", "+" + ref + ":" + local}
	if depth == "0" {
		fetch = append(fetch, "+refs/heads/*:refs/remotes/origin/*")
	} else {
		fetch = append(fetch, "--depth="+depth)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"remote", "add", "origin", "file://" + origin}, fetch, checkout} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %s", strings.Join(args, " "), out)
		}
	}
	return nil
}

// installFakeGo writes a fake program go into a directory. In place of "go install" it links
// the lkeplan of the test. It and gh are the only fakes: the version that a workflow names is not
// published while it is tested.
func installFakeGo(dir, lkeplan string) error {
	script := fmt.Sprintf("#!/bin/sh\nmkdir -p \"$GOBIN\" && ln -sf '%s' \"$GOBIN/lkeplan\"\n", lkeplan)
	return os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755)
}
