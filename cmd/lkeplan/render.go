package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/argocd"
	"github.com/lkeplan/lkeplan/engine/compile"
)

func newRender(env *env) *cobra.Command {
	var (
		src        source
		out        string
		allowEmpty bool
		announce   bool
	)
	output := choice{value: "yaml", of: []string{"yaml", "json", "dir"}}
	target := choice{value: "plain", of: []string{"plain", "argocd"}}
	cmd := &cobra.Command{
		Use:   "render [DIR]",
		Short: "Print the Kubernetes objects of a directory",
		Long: `Compile and check a directory and print the objects it stands for, always the
same bytes for the same input. DIR is the working directory where none is given.

With -o dir the objects are written to the directory given with --out, a file for
each, with a kustomization.yaml that lists them: for Flux, Argo CD or kubectl.
When it is written again, files of objects that are gone are deleted. Files that
lkeplan has not written are never touched.

A directory that compiles to no objects is refused with exit code 3, since what
prunes by the output would delete all pools, unless --allow-empty is given.

With --target argocd the objects have annotations for Argo CD: the order, server-
side apply, and a confirmation before pools and classes are pruned; pools that a
guard protects are not. Variables are read from an Application's parameters, as
Argo CD passes them to a plugin, and with --announce-parameters described for its
UI. The directory examples/argocd of the repository has the plugin.`,
		Example: `  lkeplan render clusters/prod
  lkeplan render -o json clusters/prod
  lkeplan render --target argocd clusters/prod
  lkeplan render -o dir --out manifests/prod clusters/prod`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (output.value == "dir") != (out != "") {
				return errors.New("-o dir and --out DIR go together: render -o dir --out DIR")
			}
			if err := src.askedBy(target.value, announce, env); err != nil {
				return err
			}
			fsys, opts, err := src.open(args)
			if err != nil {
				return err
			}
			if announce {
				return announceParameters(env, fsys, opts.Options)
			}
			compiled, diags := compile.Dir(cmd.Context(), fsys, opts)
			if err := report(env, compiled, diags); err != nil {
				return err
			}
			if len(compiled.Resources) == 0 && !allowEmpty && !src.allowsEmpty() {
				return refuseEmpty(env.Stderr)
			}
			if target.value == "argocd" {
				compiled = argocd.Annotate(compiled)
			}
			switch output.value {
			case "json":
				return writeJSON(env.Stdout, compiled.Manifests())
			case "dir":
				return writeTree(env.Stdout, out, compiled.Resources)
			}
			return writeYAML(env.Stdout, compiled.Manifests())
		},
	}
	src.flags(cmd)
	output.flag(cmd, "output", "o", "how to print the objects")
	target.flag(cmd, "target", "", "who applies the objects")
	cmd.Flags().BoolVar(&allowEmpty, "allow-empty", false, "print nothing, and succeed, where a directory compiles to no objects")
	cmd.Flags().BoolVar(&announce, "announce-parameters", false, "print the variables as Argo CD's UI wants to know them, instead of the objects")
	cmd.Flags().StringVar(&out, "out", "", "the `DIR` that -o dir writes to; made where it is missing")
	_ = cmd.MarkFlagDirname("out") // the only error is that there is no such flag
	return cmd
}

// writeYAML writes a stream of documents.
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

// writeJSON writes one list, as kubectl has it.
func writeJSON(w io.Writer, manifests []map[string]any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": manifests})
}
