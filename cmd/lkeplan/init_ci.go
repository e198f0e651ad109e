package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
)

// A starterFile is a file that init writes.
type starterFile struct {
	name   string
	data   []byte
	shared bool   // other directories use it, too: it can exist with the same contents
	below  string // the directory that the user named, or the root of the repository
}

// link returns the symbolic link through which a file would be written outside of its directory or repository; "" for
// none.
func (f starterFile) link() string {
	for name := f.name; ; name = filepath.Dir(name) {
		if info, err := os.Lstat(name); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return name
		}
		if dir := filepath.Dir(name); dir == filepath.Clean(f.below) || dir == name {
			return ""
		}
	}
}

// pipelineOf returns the pipeline of a CI system for a directory in a repository, and what the user has to do for it.
func pipelineOf(ci, dir, root string) (f starterFile, steps []string, err error) {
	if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil {
		return f, nil, fmt.Errorf("--ci %s: %s is not in a Git repository; run git init first", ci, dir)
	}
	if root, err = fromHere(root); err != nil {
		return f, nil, err
	}
	f = starterFile{name: filepath.Join(root, ".github", "workflows", "lkeplan.yml"), data: starterGitHub, shared: true, below: root}
	if ci == "gitlab" {
		f.name, f.data = filepath.Join(root, ".gitlab-ci.yml"), starterGitLab
		if present, err := os.ReadFile(f.name); err == nil && !samePipeline(present, f.data) {
			f.name = filepath.Join(root, "lkeplan.gitlab-ci.yml")
			steps = append(steps, "add to .gitlab-ci.yml: include: [{local: lkeplan.gitlab-ci.yml}]")
		}
	}
	if present, err := os.ReadFile(f.name); err == nil && samePipeline(present, f.data) {
		return f, nil, nil
	}
	if version := compile.Version(); semver.IsValid(version) && !strings.Contains(version, "+") {
		f.data = versionLine.ReplaceAll(f.data, []byte(`${1} "`+version+`"`))
	} else {
		steps = append(steps, "in "+f.name+", set LKEPLAN_VERSION to a release of lkeplan, or to a commit")
	}
	return f, append(steps, "make the check required: https://github.com/lkeplan/lkeplan/tree/main/examples/"+ci), nil
}

// versionLine is the line of a pipeline with the version of lkeplan, which users change.
var versionLine = regexp.MustCompile(`(LKEPLAN_VERSION:) .*`)

// samePipeline reports whether two pipelines differ at most in the version of lkeplan.
func samePipeline(a, b []byte) bool {
	return bytes.Equal(versionLine.ReplaceAll(a, nil), versionLine.ReplaceAll(b, nil))
}

// fromHere returns the path of a directory from the working directory.
func fromHere(dir string) (string, error) {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil || !filepath.IsAbs(dir) {
		return dir, err
	}
	return filepath.Rel(here, dir)
}

// writeAll writes files, and the directories that they need, or nothing. It returns the names of the files that it
// has written: not those of shared files that exist.
func writeAll(list []starterFile) (written []string, err error) {
	var missing []starterFile
	for _, f := range list {
		switch present, err := os.ReadFile(f.name); {
		case err == nil && f.shared && samePipeline(present, f.data):
		case err == nil && f.shared:
			return nil, fmt.Errorf("%s exists already, with other contents; init overwrites nothing. Remove --ci, or the file", f.name)
		case err == nil:
			return nil, fmt.Errorf("%s exists already; init overwrites nothing", f.name)
		case f.link() != "":
			return nil, fmt.Errorf("%s is a symbolic link, and init writes through none; replace it with a directory or a file",
				f.link())
		default:
			missing = append(missing, f)
		}
	}
	var created []string // files and directories, to be removed if one of them fails
	defer func() {
		if err != nil {
			for i := len(created) - 1; i >= 0; i-- {
				err = errors.Join(err, os.Remove(created[i]))
			}
		}
	}()
	for _, f := range missing {
		dirs, err := makeDirectory(filepath.Dir(f.name))
		created = append(created, dirs...)
		if err != nil {
			return nil, fmt.Errorf("create the directory of %s: %w", f.name, err)
		}
		if err := files.Create(f.name, f.data); err != nil {
			return nil, err
		}
		created, written = append(created, f.name), append(written, f.name)
	}
	return written, nil
}

// makeDirectory creates a directory and its parents, and returns those that it has created, outermost first.
func makeDirectory(dir string) (created []string, err error) {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil, nil
	case err == nil:
		return nil, errors.New("there is a file of that name")
	}
	if parent := filepath.Dir(dir); parent != dir {
		if created, err = makeDirectory(parent); err != nil {
			return created, err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return created, err
	}
	return append(created, dir), nil
}
