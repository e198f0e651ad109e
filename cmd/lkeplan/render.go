package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/engine/render"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/schemas/text"
)

const renderHelp = `Compile and check a directory, and print its Kubernetes objects. The same input
always gives the same bytes. Without DIR, render compiles the working directory.

With -o dir, render writes each object to a file in the directory of --out-dir.
It also writes a kustomization.yaml that lists these files, for Flux, Argo CD or
kubectl. The next run deletes the files of objects that are no longer declared.
It never changes files that lkeplan has not written.

Flux does not prune the pools and node classes in that directory: if it did,
their nodes would be deleted immediately, and no guard (a limit on one change) would be
evaluated.
If you remove a pool or a node class from the directory, delete the object by hand.
In contrast, "kubectl apply --prune" deletes it.

A directory without objects is an error, because a tool that prunes by the
output would delete all pools. --allow-empty permits it.

If you name several directories, or use --recursive, the objects of the
directory clusters/prod are written to the subdirectory clusters/prod of
--out-dir.

With --target argocd, the objects have annotations for Argo CD. The annotations
set the order of the objects, select server-side apply, and require a confirmation
before Argo CD prunes a pool or a node class. Argo CD never prunes a pool that a
guard protects. render then reads variables from the parameters of an Application,
as Argo CD passes them to a plugin. --announce-parameters prints these parameters
for the UI of Argo CD. The plugin is in the directory examples/argocd of the
repository of lkeplan.`

const renderExamples = `  lkeplan render clusters/prod
  lkeplan render -o json clusters/prod
  lkeplan render --target argocd clusters/prod
  lkeplan render -o dir --out-dir manifests/prod clusters/prod`

func newRender(env *env) *cobra.Command {
	r := rendering{
		env:    env,
		output: flags.Choice{Value: "yaml", Of: []string{"yaml", "json", "dir"}},
		target: flags.Choice{Value: "plain", Of: []string{"plain", "argocd"}},
	}
	cmd := &cobra.Command{
		Use:     "render [DIR...]",
		Short:   "Print the Kubernetes objects of a directory",
		Long:    renderHelp,
		Example: renderExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.some.Several(args) {
				return r.several(cmd.Context(), args)
			}
			return r.run(cmd.Context(), args)
		},
	}
	flags.SourceFlags(cmd, &r.src)
	r.output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	r.target.Flag(cmd, "target", "", "add the annotations that `TOOL` needs: argocd for Argo CD, or plain for no annotations")
	cmd.Flags().BoolVar(&r.allowEmpty, "allow-empty", false, "succeed if a directory compiles to no objects")
	cmd.Flags().BoolVar(&r.announce, "announce-parameters", false,
		"print the variables for the UI of Argo CD, and no objects")
	flags.OutDir(cmd, &r.dir)
	selectionFlags(cmd, &r.some)
	flags.RejectUnused(cmd, flags.Use{
		Flags: "var var-file catalog output out-dir allow-empty", If: func() bool { return !r.announce },
		Else: "is for objects, and --announce-parameters prints none",
	})
	return cmd
}

type rendering struct {
	env            *env
	src            revision.Options
	output, target flags.Choice
	dir            string
	allowEmpty     bool
	announce       bool
	some           diff.Selection
}

func (r *rendering) run(ctx context.Context, args []string) error {
	if (r.output.Value == "dir") != (r.dir != "") {
		return errors.New("-o dir and --out-dir DIR need each other: render -o dir --out-dir DIR")
	}
	if err := askArgo(&r.src, r.target.Value, r.announce, r.env); err != nil {
		return err
	}
	fsys, opts, err := flags.Open(ctx, r.src, args)
	if err != nil {
		return err
	}
	if r.announce {
		return announceParameters(r.env, fsys, opts.Options)
	}
	return r.render(ctx, fsys, opts)
}

// several renders several directories, each to its own directory below that of --out-dir.
func (r *rendering) several(ctx context.Context, args []string) error {
	if r.output.Value != "dir" || r.dir == "" || r.announce {
		return errors.New("several directories need -o dir --out-dir DIR, which writes each to its own directory: the objects " +
			"of two clusters in one stream would be applied to one cluster")
	}
	members, err := revision.Members(ctx, r.src, revision.Selection{Arguments: args, Recursive: r.some.Recursive})
	if err != nil {
		return err
	}
	var failed, reported error
	for _, m := range members {
		if err := m.Outside(); err != nil {
			return err
		}
		one := *r
		one.dir = filepath.Join(r.dir, filepath.FromSlash(m.Dir))
		switch err := one.render(ctx, m.FS, m.Options()); {
		case errors.Is(err, flags.ErrReported):
			reported = err
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", m.Dir, err))
		}
	}
	return cmp.Or(failed, reported)
}

// render compiles a directory and writes its objects.
func (r *rendering) render(ctx context.Context, fsys fs.FS, opts compile.Options) error {
	compiled, diags := compile.Dir(ctx, fsys, opts)
	if err := flags.Report(r.env, compiled, diags); err != nil {
		return err
	}
	if len(compiled.Objects) == 0 && !r.allowEmpty && !allowsEmpty(&r.src) {
		return errors.New(empty)
	}
	if r.target.Value == "argocd" {
		compiled = render.Annotate(compiled)
	}
	return r.write(compiled.Manifests())
}

func (r *rendering) write(manifests []map[string]any) error {
	switch r.output.Value {
	case "json":
		// One list, as kubectl prints it.
		return diag.JSON(r.env.Stdout, map[string]any{"apiVersion": "v1", "kind": "List", "items": manifests})
	case "dir":
		written, deleted, err := render.Write(r.dir, manifests)
		if err == nil {
			fmt.Fprintf(r.env.Stdout, "%s: %s written, %d deleted\n", r.dir, text.Count(written, "file"), deleted)
		}
		return err
	}
	return writeYAML(r.env.Data(), manifests)
}

// writeYAML writes the objects of "lkeplan render" as YAML documents.
func writeYAML(w io.Writer, manifests []map[string]any) error {
	for i, manifest := range manifests {
		text, err := render.YAML(manifest)
		if err != nil {
			return fmt.Errorf("encode object %d: %w", i, err)
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// askArgo reads the parameters of an Application, if Argo CD runs the command.
func askArgo(s *revision.Options, target string, announce bool, env *env) error {
	if target != "argocd" && !announce {
		return nil
	}
	request, err := render.ReadRequest(env.Environ())
	if announce {
		request, err = render.Request{Path: request.Path}, nil // the parameters that are set do not matter here
	}
	s.Argo = &request
	return err
}

// allowsEmpty reports whether the Application can have no objects.
func allowsEmpty(s *revision.Options) bool { return s.Argo != nil && s.Argo.AllowEmpty }

// announceParameters prints the variables of a directory in the format of Argo CD.
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
	return diag.JSON(env.Stdout, render.Announce(variables))
}

// empty is the error for a directory without objects.
const empty = "the directory compiles to no objects; a tool that prunes by this output would delete all pools and their " +
	"nodes. To permit that, add --allow-empty, or set the parameter lkeplan.allow-empty of Argo CD's plugin to true"
