// Package revision opens the directories of configuration of a command, with the values for their variables and their
// catalogue, and the commit of their repository that they are compared with. In a repository of many clusters, it finds
// the directories of clusters, and those that a change can affect.
//
// It finds and compiles directories. It neither compares them nor connects to a cluster.
package revision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/render"
	"github.com/lkeplan/lkeplan/engine/source"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Options are the inputs of a command in addition to the directory.
type Options struct {
	Vars     []string        // of --var: NAME=VALUE
	VarFiles []string        // of --var-file
	Catalog  string          // of --catalog: a file; "" for the pinned or built-in catalogue
	Argo     *render.Request // nil unless Argo CD runs the command
}

// Open returns the file system and options for compiling a directory.
// Nothing outside of the file system can be read, not even through symbolic links.
func (o Options) Open(ctx context.Context, dir string) (fs.FS, compile.Options, error) {
	if err := isDirectory(dir); err != nil {
		return nil, compile.Options{}, err
	}
	root, below := o.place(filepath.Clean(dir))
	opts := compile.Options{Options: config.Options{Dir: below, Version: compile.Release(compile.Version())}}
	if o.Argo == nil { // Argo CD shows messages to readers elsewhere
		opts.Root = root
	}
	_, _, opts.InRepository = findRepository(filepath.Clean(dir))
	var err error
	if opts.Vars, err = o.parseVars(); err != nil {
		return nil, opts, err
	}
	if opts.Catalog, err = o.namedCatalog(); err != nil {
		return nil, opts, err
	}
	opts.CatalogFile = o.Catalog
	fsys, err := source.Working(ctx, root)
	if errors.Is(err, source.ErrNoRepository) {
		fsys, err = openDirectory(root)
	}
	if err != nil {
		return nil, opts, err
	}
	if opts.VarFiles, err = o.readVarFiles(fsys, root); err != nil {
		return nil, opts, err
	}
	return fsys, opts, o.ask(fsys, &opts)
}

// openDirectory returns a directory outside of a repository.
func openDirectory(root string) (fs.FS, error) {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", root, files.Cause(err))
	}
	return opened.FS(), nil
}

// isDirectory returns an error if a path is not a directory.
func isDirectory(path string) error {
	info, err := os.Stat(path)
	if to, linkErr := os.Readlink(path); err != nil && linkErr == nil {
		return fmt.Errorf("%s: it is a link to %s, which does not exist", path, to)
	}
	switch {
	case err != nil && filepath.Ext(path) == ".hcl":
		return fmt.Errorf("%s: %w; name a directory, such as %s", path, files.Cause(err), filepath.Dir(path))
	case err != nil:
		return fmt.Errorf("%s: %w", path, files.Cause(err))
	case !info.IsDir() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)):
		return fmt.Errorf("%s is not a directory of HCL; to write its objects as HCL: lkeplan import --from %s", path, diag.ShellLine(path))
	case !info.IsDir():
		return fmt.Errorf("%s is a file; name the directory that it is in: %s", path, filepath.Dir(path))
	}
	return nil
}

// Place returns the root in which a directory is read, and the directory in it, as Open does. The
// directory need not exist any more.
func (o Options) Place(dir string) (root, below string) {
	there, rest := filepath.Clean(dir), "."
	for there != filepath.Dir(there) {
		if _, err := os.Stat(there); err == nil {
			break
		}
		there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest)
	}
	root, below = o.place(there)
	return root, path.Join(below, filepath.ToSlash(rest))
}

// place returns the directory to compile and its root: the repository, which contains its modules.
// Outside of a repository the root is the working directory, or the directory if it is not below the
// working directory.
func (o Options) place(dir string) (root, below string) {
	if top, below, ok := findRepository(dir); ok {
		return top, below
	}
	if top, below, ok := o.checkout(dir); ok {
		return top, below
	}
	if !filepath.IsLocal(dir) {
		return dir, "."
	}
	return ".", filepath.ToSlash(dir)
}

// findRepository finds the root of the repository of a directory: the nearest directory with .git, which is
// a file in a linked worktree. below is the directory in it.
func findRepository(dir string) (root, below string, ok bool) {
	abs, err := resolvePath(dir)
	if err != nil {
		return "", "", false
	}
	dotGit := source.DotGit(abs)
	if dotGit == "" {
		return "", "", false
	}
	root = filepath.Dir(dotGit)
	below, err = filepath.Rel(root, abs)
	return root, filepath.ToSlash(below), err == nil
}

// namedCatalog returns the catalogue of --catalog; nil if there is none.
func (o Options) namedCatalog() (*catalog.Catalog, error) {
	if o.Catalog == "" {
		return nil, nil
	}
	return files.Read("--catalog", o.Catalog, catalog.Read)
}

// Prices returns the catalogue for commands that read no directory: the named catalogue, that pinned
// for the working directory, or the built-in one.
func (o Options) Prices() (*catalog.Catalog, error) {
	if named, err := o.namedCatalog(); named != nil || err != nil {
		return named, err
	}
	root, below := o.place(".")
	pinned, file, err := compile.Pinned(os.DirFS(root), below)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", filepath.Join(root, file), files.Cause(err))
	case pinned != nil:
		return pinned, nil
	}
	return catalog.Embedded()
}

// CatalogFile returns the path of the file that pins the catalogue of the working directory: the existing
// file, or else the file to write, in the root of the repository.
func (o Options) CatalogFile() (file string) {
	root, below := o.place(".")
	for _, name := range compile.CatalogFiles(below) {
		file = filepath.Join(root, filepath.FromSlash(name))
		if _, err := os.Lstat(file); err == nil {
			break
		}
	}
	return file
}

func (o Options) parseVars() (vars []config.Var, err error) {
	for _, assignment := range o.Vars {
		name, value, ok := strings.Cut(assignment, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--var %s: write NAME=VALUE", assignment)
		}
		vars = append(vars, config.Var{Name: name, Value: value})
	}
	return vars, nil
}

// readVarFiles reads the named files; those in the repository as Git stores them.
func (o Options) readVarFiles(fsys fs.FS, root string) (values []config.File, err error) {
	for _, name := range o.VarFiles {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("--var-file %s: %w", name, files.Cause(err))
		}
		if info.Size() > syntax.MaxFileSize {
			return nil, fmt.Errorf("--var-file %s: larger than %d bytes", name, syntax.MaxFileSize)
		}
		file := config.File{Name: name, Path: pathBelow(root, name)}
		err = fs.ErrNotExist
		if file.Path != "" {
			file.Data, err = fs.ReadFile(fsys, file.Path)
		}
		if errors.Is(err, fs.ErrNotExist) { // outside of the repository, or ignored by Git
			file.Data, err = os.ReadFile(name)
		}
		if err == nil && files.IsPointer(file.Data) {
			err = files.Pointer(name)
		}
		if err != nil {
			return nil, fmt.Errorf("--var-file %s: %w", name, files.Cause(err))
		}
		values = append(values, file)
	}
	return values, nil
}

// pathBelow returns the path of a file below a root; "" if the file or its link target is outside.
func pathBelow(root, name string) string {
	root, rootErr := resolvePath(root)
	file, err := resolvePath(name)
	dir, dirErr := resolvePath(filepath.Dir(name))
	if rootErr != nil || err != nil || dirErr != nil {
		return ""
	}
	inside, err := filepath.Rel(root, file)
	if err != nil || !filepath.IsLocal(inside) {
		return ""
	}
	below, err := filepath.Rel(root, filepath.Join(dir, filepath.Base(name)))
	if err != nil || !filepath.IsLocal(below) {
		return ""
	}
	return filepath.ToSlash(below)
}

// resolvePath returns the absolute path without links.
func resolvePath(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// checkout finds the root of Argo CD's copy of an Application's repository, which need not have a .git.
func (o Options) checkout(dir string) (root, below string, ok bool) {
	if o.Argo == nil {
		return "", "", false
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", false
	}
	root = abs
	for range o.Argo.Below(filepath.ToSlash(abs)) {
		root = filepath.Dir(root)
	}
	below, err = filepath.Rel(root, abs)
	return root, filepath.ToSlash(below), err == nil && root != abs
}

// ask adds what an Application requests. Files of values are read only in its repository: the author of
// an Application must not see other files of the plugin.
func (o Options) ask(fsys fs.FS, opts *compile.Options) error {
	if o.Argo == nil {
		return nil
	}
	opts.Vars = append(o.Argo.Vars, opts.Vars...)
	for _, name := range o.Argo.VarFiles {
		at := path.Join(opts.Dir, name)
		if path.IsAbs(name) || !fs.ValidPath(at) {
			return fmt.Errorf("the file of values %s is not in the repository", name)
		}
		info, err := fs.Stat(fsys, at)
		if err != nil {
			return fmt.Errorf("read the file of values %s: %w", name, files.Cause(err))
		}
		if !info.Mode().IsRegular() || info.Size() > syntax.MaxFileSize {
			return fmt.Errorf("%s is not a file of at most %d bytes", name, syntax.MaxFileSize)
		}
		data, err := fs.ReadFile(fsys, at)
		if err != nil {
			return fmt.Errorf("read the file of values %s: %w", name, files.Cause(err))
		}
		opts.VarFiles = append(opts.VarFiles, config.File{Name: at, Path: at, Data: data})
	}
	return nil
}
