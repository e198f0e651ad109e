package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/engine"
	"github.com/lkeplan/lkeplan/engine/argocd"
)

// askedBy reads what an Application asks for, where it is Argo CD that renders.
func (s *source) askedBy(target string, announce bool, env *env) error {
	if target != "argocd" && !announce {
		return nil
	}
	request, err := argocd.ReadRequest(env.Environ())
	if announce {
		request, err = argocd.Request{Path: request.Path}, nil // what can be set does not follow from what is
	}
	s.argo = &request
	return err
}

// allowsEmpty reports whether an Application may have no objects.
func (s *source) allowsEmpty() bool { return s.argo != nil && s.argo.AllowEmpty }

// checkout finds the root of the copy of a repository that Argo CD has made of
// an Application's, and which need not have a .git.
func (s *source) checkout(dir string) (root, below string, ok bool) {
	if s.argo == nil {
		return "", "", false
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", false
	}
	root = abs
	for range s.argo.Below(filepath.ToSlash(abs)) {
		root = filepath.Dir(root)
	}
	below, err = filepath.Rel(root, abs)
	return root, filepath.ToSlash(below), err == nil && root != abs
}

// ask adds what an Application asks for. Files of values are read in its
// repository: whoever writes an Application must not see others of the plugin's.
func (s *source) ask(fsys fs.FS, opts *engine.CompileOptions) error {
	if s.argo == nil {
		return nil
	}
	opts.Vars = append(s.argo.Vars, opts.Vars...)
	for _, name := range s.argo.VarFiles {
		at := path.Join(opts.Dir, name)
		if path.IsAbs(name) || !fs.ValidPath(at) {
			return fmt.Errorf("the file of values %s is not in the repository", name)
		}
		info, err := fs.Stat(fsys, at)
		if err != nil {
			return fmt.Errorf("read the file of values %s: %w", name, bare(err))
		}
		if !info.Mode().IsRegular() || info.Size() > syntax.MaxFileSize {
			return fmt.Errorf("%s is no file of at most %d bytes", name, syntax.MaxFileSize)
		}
		data, err := fs.ReadFile(fsys, at)
		if err != nil {
			return fmt.Errorf("read the file of values %s: %w", name, bare(err))
		}
		opts.VarFiles = append(opts.VarFiles, config.File{Name: at, Data: data})
	}
	return nil
}

// announceParameters prints the variables of a directory as Argo CD wants to
// know them.
func announceParameters(env *env, fsys fs.FS, opts config.Options) error {
	module, diags := config.Load(fsys, opts)
	var variables []config.Variable
	if !diags.HasErrors() {
		declared, declaredDiags := module.Variables()
		variables, diags = declared, append(diags, declaredDiags...)
	}
	if err := diag.Text(env.Stderr, diag.New(diags, module.Files), env.Color); err != nil {
		return err
	}
	if diags.HasErrors() {
		return errReported
	}
	enc := json.NewEncoder(env.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(argocd.Announce(variables))
}

// errEmpty says why nothing is printed where a directory compiles to nothing.
const errEmpty = `lkeplan: the directory compiles to no objects. Whatever prunes by this output would delete all
pools, and their nodes with them. If that is meant, add --allow-empty, or set the parameter
lkeplan.allow-empty of Argo CD's plugin to true.
`

// refuseEmpty ends a command that would print nothing.
func refuseEmpty(w io.Writer) error {
	if _, err := io.WriteString(w, errEmpty); err != nil {
		return err
	}
	return refused
}
