package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine"
)

func newRender(env *env) *cobra.Command {
	var src source
	output := choice{value: "yaml", of: []string{"yaml", "json"}}
	cmd := &cobra.Command{
		Use:   "render [DIR]",
		Short: "Print the Kubernetes objects of a directory",
		Long: `Compile and check a directory and print the objects it stands for, always the
same bytes for the same input. DIR is the working directory where none is given.`,
		Example: "  lkeplan render clusters/prod | kubectl diff -f -",
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := src.open(args)
			if err != nil {
				return err
			}
			compiled, diags := engine.Compile(cmd.Context(), fsys, opts)
			if err := report(env, compiled, diags); err != nil {
				return err
			}
			if output.value == "json" {
				return writeJSON(env.Stdout, compiled.Manifests())
			}
			return writeYAML(env.Stdout, compiled.Manifests())
		},
	}
	src.flags(cmd)
	output.flag(cmd, "output", "o", "how to print the objects")
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
