package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// upgradeFrom names another commit than the last one for the release before this one,
// such as the tag of a release.
const upgradeFrom = "LKEPLAN_UPGRADE_FROM"

// ofLastCommit are lkeplan and the controller of the release before this one, which is the last commit. The
// working tree is this one if it differs from HEAD. They cannot be built in a clone
// without that commit.
func ofLastCommit() *programs {
	p := &programs{}
	p.build = p.once(func(dir string) (string, error) {
		if err := checkOutBefore(dir); err != nil {
			return "", err
		}
		bin := filepath.Join(dir, "bin")
		return bin, goBuild(dir, bin, "-buildvcs=false", "./cmd/lkeplan", "./cmd/controller")
	})
	return p
}

// tree returns the directory with the files of the last commit, in which a package of Go must not
// be changed.
func (p *programs) tree(t testing.TB) string {
	t.Helper()
	return filepath.Dir(filepath.Dir(p.path(t, "any")))
}

// checkOutBefore writes the files of the commit before this one into a directory.
func checkOutBefore(dir string) error {
	root, err := repositoryRoot()
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
