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
	"github.com/lkeplan/lkeplan/engine"
)

// A source is the directory a command reads and the values for its variables.
type source struct {
	vars     []string
	varFiles []string
}

// flags adds the flags for variables, which are the same in each command.
func (s *source) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.vars, "var", nil, "set a variable: `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&s.varFiles, "var-file", nil, "read variables from a `FILE`; may be repeated")
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
func (s *source) open(args []string) (fs.FS, engine.CompileOptions, error) {
	root, dir := ".", "."
	if len(args) > 0 {
		dir = filepath.ToSlash(filepath.Clean(args[0]))
	}
	if !filepath.IsLocal(dir) {
		root, dir = dir, "."
	}
	opts := engine.CompileOptions{Options: config.Options{Dir: dir, Version: release()}}
	var err error
	if opts.Vars, err = s.parseVars(); err != nil {
		return nil, opts, err
	}
	if opts.VarFiles, err = s.readVarFiles(); err != nil {
		return nil, opts, err
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, opts, fmt.Errorf("open %s: %w", root, bare(err))
	}
	return opened.FS(), opts, nil
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

func (s *source) readVarFiles() (files []config.File, err error) {
	for _, name := range s.varFiles {
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("--var-file %s: %w", name, bare(err))
		}
		if info.Size() > syntax.MaxFileSize {
			return nil, fmt.Errorf("--var-file %s: larger than %d bytes", name, syntax.MaxFileSize)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--var-file %s: %w", name, bare(err))
		}
		files = append(files, config.File{Name: name, Data: data})
	}
	return files, nil
}

// bare strips the operation and path from an error, for messages that have
// them already.
func bare(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	return err
}
