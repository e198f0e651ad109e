package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/comparison"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/render"
)

const renderHelp = `Compile and check a directory and print the objects it stands for, always the
same bytes for the same input. DIR is the working directory where none is given.

With -o dir each object becomes a file of the directory given with --out, next
to a kustomization.yaml that lists them: for Flux, Argo CD or kubectl. Another
run deletes the files of objects that are gone. Files that lkeplan has not
written are never touched. Flux prunes neither pools nor classes of such a
directory, as their nodes would be deleted with them, at once and unguarded:
delete them by hand. kubectl apply --prune has no such exception.

A directory that compiles to no objects is refused with exit code 3, because a
tool that prunes by the output would delete all pools. --allow-empty allows it.

Several directories, or with --recursive all with a cluster block below, become
DIR/DIRECTORY each.

With --target argocd the objects have annotations for Argo CD: the order,
server-side apply, and a confirmation before pools and classes are pruned; it
never prunes pools that a guard protects. Variables are read from the parameters
of an Application, as Argo CD passes them to a plugin, and --announce-parameters
describes them for its UI. The directory examples/argocd of the repository has
the plugin.`

const renderExamples = `  lkeplan render clusters/prod
  lkeplan render -o json clusters/prod
  lkeplan render --target argocd clusters/prod
  lkeplan render -o dir --out manifests/prod clusters/prod`

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
	r.src.Flags(cmd)
	r.output.Flag(cmd, "output", "o", "print the objects as `FORMAT`")
	r.target.Flag(cmd, "target", "", "for the `TOOL` that applies the objects")
	cmd.Flags().BoolVar(&r.allowEmpty, "allow-empty", false, "succeed where a directory compiles to no objects")
	cmd.Flags().BoolVar(&r.announce, "announce-parameters", false,
		"instead of the objects, print the variables for the UI of Argo CD")
	cmd.Flags().StringVar(&r.dir, "out", "", "`DIR` that -o dir writes to, made where it is missing")
	r.some.Flags(cmd)
	_ = cmd.MarkFlagDirname("out") // the only error is that there is no such flag
	objects := flags.Effect{
		When: func([]string) bool { return !r.announce }, Else: "is for objects, and --announce-parameters prints none",
	}
	flags.Effects{
		"var": objects, "var-file": objects, "catalog": objects, "output": objects, "out": objects, "allow-empty": objects,
	}.RejectUnused(cmd)
	return cmd
}

type rendering struct {
	env            *env
	src            source
	output, target flags.Choice
	dir            string
	allowEmpty     bool
	announce       bool
	some           comparison.Selection
}

func (r *rendering) run(ctx context.Context, args []string) error {
	if (r.output.Value == "dir") != (r.dir != "") {
		return errors.New("-o dir and --out DIR go together: render -o dir --out DIR")
	}
	if err := askArgo(&r.src, r.target.Value, r.announce, r.env); err != nil {
		return err
	}
	fsys, opts, err := r.src.Directory(ctx, args)
	if err != nil {
		return err
	}
	if r.announce {
		return announceParameters(r.env, fsys, opts.Options)
	}
	return r.render(ctx, fsys, opts)
}

// several renders several directories, each to one of its own below that of --out.
func (r *rendering) several(ctx context.Context, args []string) error {
	if r.output.Value != "dir" || r.dir == "" || r.announce {
		return errors.New("several directories are rendered with -o dir --out DIR, each to one of its own: the objects " +
			"of two clusters in one stream would be applied to one")
	}
	members, err := r.some.Members(ctx, &r.src, args, nil)
	if err != nil {
		return err
	}
	var worst error
	for _, m := range members {
		if err := m.Outside(); err != nil {
			return err
		}
		one := *r
		one.dir = filepath.Join(r.dir, filepath.FromSlash(m.Dir))
		var code outcome
		err := one.render(ctx, m.FS, m.Options())
		if worst == nil || errors.As(worst, &code) && err != nil && !errors.As(err, &code) {
			worst = err // errors beat refusals
		}
	}
	return worst
}

// render compiles a directory and writes what it stands for.
func (r *rendering) render(ctx context.Context, fsys fs.FS, opts compile.Options) error {
	compiled, diags := compile.Dir(ctx, fsys, opts)
	if err := flags.Report(r.env, compiled, diags); err != nil {
		return err
	}
	if len(compiled.Objects) == 0 && !r.allowEmpty && !allowsEmpty(&r.src) {
		fmt.Fprint(r.env.Stderr, errEmpty)
		return flags.Refused
	}
	if r.target.Value == "argocd" {
		compiled = render.Annotate(compiled)
	}
	return r.write(compiled.Manifests())
}

func (r *rendering) write(manifests []map[string]any) error {
	switch r.output.Value {
	case "json":
		// One list, as kubectl has it.
		return diag.JSON(r.env.Stdout, map[string]any{"apiVersion": "v1", "kind": "List", "items": manifests})
	case "dir":
		written, deleted, err := render.Write(r.dir, manifests)
		if err == nil {
			fmt.Fprintf(r.env.Stdout, "%s: %s written, %d deleted\n", r.dir, diag.Counted(written, "file"), deleted)
		}
		return err
	}
	return writeYAML(r.env.Data(), manifests)
}

func writeYAML(w io.Writer, manifests []map[string]any) error {
	for i, manifest := range manifests {
		text, err := yaml.Marshal(manifest)
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
	return diag.JSON(env.Stdout, render.Announce(variables))
}

// errEmpty says why nothing is printed where a directory compiles to nothing.
const errEmpty = `lkeplan: the directory compiles to no objects. Whatever prunes by this output would delete all
pools, and their nodes with them. If that is meant, add --allow-empty, or set the parameter
lkeplan.allow-empty of Argo CD's plugin to true.
`
