package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/engine/argocd"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A source is the directory a command reads and the values for its variables.
type source struct {
	vars     []string
	varFiles []string
	catalog  string
	argo     *argocd.Request // nil where it is not Argo CD that asks
}

// flags adds the flags for variables, which are the same in each command.
func (s *source) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.vars, "var", nil, "set a variable: `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&s.varFiles, "var-file", nil, "read variables from `FILE`; may be repeated")
	cmd.Flags().StringVar(&s.catalog, "catalog", "", "check against the Linode types and regions in `FILE`, which \"lkeplan catalog refresh\" writes, and not the built-in ones")
}

// oneDirectory is the positional argument of commands that read a directory.
func oneDirectory(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one directory, not %d arguments", cmd.Name(), len(args))
	}
	return nil
}

// open returns the file system and options for compiling the directory given
// as the only argument, or else the working directory. What lies outside of
// the file system cannot be read, not even through symbolic links.
func (s *source) open(args []string) (fs.FS, compile.Options, error) {
	root, dir := s.place(args)
	opts := compile.Options{Options: config.Options{Dir: dir, Version: release()}}
	var err error
	if opts.Vars, err = s.parseVars(); err != nil {
		return nil, opts, err
	}
	if opts.VarFiles, err = s.readVarFiles(); err != nil {
		return nil, opts, err
	}
	if opts.Catalog, err = s.readCatalog(); err != nil {
		return nil, opts, err
	}
	opts.Current = opts.Catalog != nil // whoever names one means it
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, opts, fmt.Errorf("open %s: %w", root, files.Cause(err))
	}
	return opened.FS(), opts, s.ask(opened.FS(), &opts)
}

// place returns the directory to compile and the root it is read in: the
// repository around it, in which its modules are. Outside of a repository the
// root is the working directory, or the directory itself if it is not below.
func (s *source) place(args []string) (root, dir string) {
	dir = "."
	if len(args) > 0 {
		dir = filepath.Clean(args[0])
	}
	if top, below, ok := repository(dir); ok {
		return top, below
	}
	if top, below, ok := s.checkout(dir); ok {
		return top, below
	}
	if !filepath.IsLocal(dir) {
		return dir, "."
	}
	return ".", filepath.ToSlash(dir)
}

// repository finds the root of the repository that a directory is in: the
// nearest one with .git, which is a file in a work tree that was added. Below
// is the directory within it.
func repository(dir string) (root, below string, ok bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", false
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", "", false
	}
	for root := abs; ; root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			below, err := filepath.Rel(root, abs)
			return root, filepath.ToSlash(below), err == nil
		}
		if root == filepath.Dir(root) {
			return "", "", false
		}
	}
}

// readCatalog returns the catalogue that was named, nil for the one built in.
func (s *source) readCatalog() (*catalog.Catalog, error) {
	if s.catalog == "" {
		return nil, nil
	}
	file, err := os.Open(s.catalog)
	if err != nil {
		return nil, fmt.Errorf("--catalog %s: %w", s.catalog, files.Cause(err))
	}
	defer file.Close()
	plans, err := catalog.Read(file)
	if err != nil {
		return nil, fmt.Errorf("--catalog %s: %w", s.catalog, err)
	}
	return plans, nil
}

// release is the version for required_version: programs built from a checkout
// satisfy all constraints.
func release() string {
	if v := version(); !strings.HasPrefix(v, "devel") {
		return v
	}
	return ""
}

func (s *source) parseVars() (vars []config.Var, err error) {
	for _, assignment := range s.vars {
		name, value, ok := strings.Cut(assignment, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--var %s: write NAME=VALUE", assignment)
		}
		vars = append(vars, config.Var{Name: name, Value: value})
	}
	return vars, nil
}

func (s *source) readVarFiles() (values []config.File, err error) {
	for _, name := range s.varFiles {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("--var-file %s: %w", name, files.Cause(err))
		}
		if info.Size() > syntax.MaxFileSize {
			return nil, fmt.Errorf("--var-file %s: larger than %d bytes", name, syntax.MaxFileSize)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--var-file %s: %w", name, files.Cause(err))
		}
		values = append(values, config.File{Name: name, Data: data})
	}
	return values, nil
}
