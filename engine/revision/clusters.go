package revision

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"runtime"
	"slices"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// FindClusters lists the directories of clusters at and below a directory of a file system, sorted:
// directories with a cluster block, and those whose cluster block cannot be read. Modules are not
// clusters.
func FindClusters(fsys fs.FS, below string) (found []string, err error) {
	if info, err := fs.Stat(fsys, below); err != nil || !info.IsDir() {
		return nil, nil // the directory does not exist in this commit
	}
	directories, err := load.Directories(fsys, below)
	if err != nil {
		return nil, fmt.Errorf("find clusters in %s: %w", below, err)
	}
	clusters := make([]bool, len(directories))
	errs := task.Each(slog.Default(), runtime.GOMAXPROCS(0), directories, func(i int, dir string) error {
		module, diags := config.Load(fsys, config.Options{Dir: dir})
		clusters[i] = module.IsCluster() || diags.HasErrors()
		return nil
	})
	if err := cmp.Or(errs...); err != nil {
		return nil, fmt.Errorf("find clusters in %s: %w", below, err)
	}
	for i, dir := range directories {
		if clusters[i] {
			found = append(found, dir)
		}
	}
	return found, nil
}

// HasCluster reports whether a directory has files of configuration.
func HasCluster(fsys fs.FS, dir string) bool {
	names, err := configFiles(fsys, dir)
	return err == nil && len(names) > 0
}

// Reaches reports whether a change of a repository from one state to another can change what a
// directory compiles to: whether one of the files that it is compiled from differs. If that is
// unknown, the answer is yes. The options are those of the compilation.
func Reaches(base, head fs.FS, dir string, opts config.Options) (bool, error) {
	opts.Dir = dir
	module, diags := config.Load(head, opts)
	reach := module.Reach()
	if diags.HasErrors() || reach.Open {
		return true, nil
	}
	for _, d := range reach.Directories {
		before, beforeErr := configFiles(base, d)
		after, afterErr := configFiles(head, d)
		if err := errors.Join(beforeErr, afterErr); err != nil || !slices.Equal(before, after) {
			return true, err
		}
		reach.Files = append(reach.Files, after...)
	}
	for _, name := range append(reach.Files, compile.CatalogFiles(dir)...) {
		same, err := sameFile(base, head, name)
		if err != nil || !same {
			return true, err
		}
	}
	return false, nil
}

// configFiles returns the files of a directory that are read with it; none if the directory does not exist.
func configFiles(fsys fs.FS, dir string) (names []string, err error) {
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !e.IsDir() && load.Belongs(e.Name()) {
			names = append(names, path.Join(dir, e.Name()))
		}
	}
	return names, err
}

// sameFile reports whether a file is the same in two states, or is missing in both.
func sameFile(base, head fs.FS, name string) (bool, error) {
	before, beforeErr := fs.ReadFile(base, name)
	after, afterErr := fs.ReadFile(head, name)
	switch {
	case errors.Is(beforeErr, fs.ErrNotExist) && errors.Is(afterErr, fs.ErrNotExist):
		return true, nil
	case errors.Is(beforeErr, fs.ErrNotExist), errors.Is(afterErr, fs.ErrNotExist):
		return false, nil
	}
	return bytes.Equal(before, after), errors.Join(beforeErr, afterErr)
}
