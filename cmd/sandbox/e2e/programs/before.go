package programs

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// upgradeFrom names another commit than the last one for the release before this one,
// such as the tag of a release.
const upgradeFrom = "LKEPLAN_UPGRADE_FROM"

// Release is programs of a commit, with the files of that commit.
type Release struct{ Set }

// Before returns programs of the release before this one, which is the last commit. The
// working tree is this one where it differs from HEAD. They cannot be built in a clone
// without that commit.
func Before(names ...string) *Release {
	r := &Release{}
	r.build = r.once(func(dir string) (string, error) {
		if err := checkOutBefore(dir); err != nil {
			return "", err
		}
		bin := filepath.Join(dir, "bin")
		args := []string{"build", "-C", dir, "-buildvcs=false", stripped, "-o", bin + string(filepath.Separator)}
		for _, name := range names {
			args = append(args, "./cmd/"+name)
		}
		_, err := run(args...)
		return bin, err
	})
	return r
}

// Tree returns the directory with the files of the commit, where a package of Go must not
// be changed.
func (r *Release) Tree(t testing.TB) string {
	t.Helper()
	return filepath.Dir(filepath.Dir(r.Path(t, "any")))
}

// checkOutBefore writes the files of the commit before this one into a directory.
func checkOutBefore(dir string) error {
	root, err := Repository()
	if err != nil {
		return err
	}
	changed, err := output("git", "-C", root, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	commit := "HEAD~1"
	if changed != "" {
		commit = "HEAD"
	}
	commit = cmp.Or(os.Getenv(upgradeFrom), commit)
	archive := filepath.Join(dir, "archive.tar")
	if _, err := output("git", "-C", root, "archive", "--output", archive, commit); err != nil {
		return fmt.Errorf("there is no commit %s to upgrade from; fetch the history, as with: git fetch --unshallow (%w)",
			commit, err)
	}
	if _, err := output("tar", "-xf", archive, "-C", dir); err != nil {
		return err
	}
	return os.Remove(archive)
}

// output runs a program and returns what it writes.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
