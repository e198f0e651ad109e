package revision

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/source"
)

// hasConfiguration reports whether a directory has files of configuration. The compilation reports if it
// cannot be read.
func hasConfiguration(fsys fs.FS, dir string) bool {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return load.Configures(e.Name()) })
}

// renamed returns the directory of the cluster in a commit, if it no longer exists or if its objects
// now belong to the directory; "" for none. Otherwise a pull request could bypass its guards by
// renaming the directory.
func (g Git) renamed(ctx context.Context, rev source.Revision, opts compile.Options) (string, error) {
	if g.Cluster == "" || rev.ID == "" {
		return "", nil
	}
	candidates, err := dirsMentioning(rev, g.Cluster)
	if err != nil {
		return "", fmt.Errorf("find cluster %s in commit %.12s: %w", g.Cluster, rev.ID, err)
	}
	var found []string
	for _, dir := range candidates {
		opts.Dir = dir
		compiled, _ := compile.Dir(ctx, rev.FS, opts)
		stays := HasCluster(g.Work, dir)
		if compiled.Cluster.Name == g.Cluster && (!stays || compiled.Directory == g.Directory) {
			found = append(found, dir)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("commit %.12s does not have this directory, but %s are all for its cluster %s; select one "+
		"with --base dir:PATH", rev.ID, strings.Join(found, ", "), g.Cluster)
}

// dirsMentioning lists the directories with a file of configuration that contains a cluster block and a
// text.
func dirsMentioning(rev source.Revision, text string) (dirs []string, err error) {
	err = fs.WalkDir(rev.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !load.Configures(path.Base(name)) {
			return err
		}
		data, err := fs.ReadFile(rev.FS, name)
		if err != nil {
			return rev.Lacking() // a broken link is not configuration
		}
		if !bytes.Contains(data, []byte("cluster")) || !bytes.Contains(data, []byte(text)) {
			return nil
		}
		if dir := path.Dir(name); len(dirs) == 0 || dirs[len(dirs)-1] != dir {
			dirs = append(dirs, dir)
		}
		return nil
	})
	return dirs, err
}
