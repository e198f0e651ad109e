package main

import (
	"io/fs"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/render"
)

// askArgo reads what an Application asks for, where it is Argo CD that renders.
func askArgo(s *source, target string, announce bool, env *env) error {
	if target != "argocd" && !announce {
		return nil
	}
	request, err := render.ReadRequest(env.Environ())
	if announce {
		request, err = render.Request{Path: request.Path}, nil // what can be set does not follow from what is
	}
	s.Argo = &request
	return err
}

// allowsEmpty reports whether an Application may have no objects.
func allowsEmpty(s *source) bool { return s.Argo != nil && s.Argo.AllowEmpty }

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
		return flags.ErrReported
	}
	return writeJSON(env.Stdout, render.Announce(variables))
}

// errEmpty says why nothing is printed where a directory compiles to nothing.
const errEmpty = `lkeplan: the directory compiles to no objects. Whatever prunes by this output would delete all
pools, and their nodes with them. If that is meant, add --allow-empty, or set the parameter
lkeplan.allow-empty of Argo CD's plugin to true.
`
