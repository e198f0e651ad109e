package config_test

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestLanguage compiles the archives in testdata. want.yaml contains the objects and the other
// inputs of an apply, want.diag the messages. The file "vars" contains values of --var, the file
// "version" the version that compiles, the file "dir" the directory.
func TestLanguage(t *testing.T) {
	golden.Archives(t, "testdata", func(files fstest.MapFS) map[string]string {
		opts := config.Options{Vars: vars(files["vars"])}
		if f := files["dir"]; f != nil {
			opts.Dir = strings.TrimSpace(string(f.Data))
		}
		if f := files["version"]; f != nil {
			opts.Version = strings.TrimSpace(string(f.Data))
		}
		compiled, diags, sources := compile(files, opts)
		var objects, messages bytes.Buffer
		for i, r := range compiled.Objects {
			if i > 0 {
				objects.WriteString("---\n")
			}
			text, err := yaml.Marshal(r.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			objects.WriteString("# " + r.Addr.String() + "\n")
			objects.Write(text)
		}
		for _, i := range compiled.Imports {
			fmt.Fprintf(&objects, "# import %s: %s %s\n", i.Addr, i.Kind, i.Name)
		}
		for _, r := range compiled.Removed {
			fmt.Fprintf(&objects, "# removed %s: %s %s, delete: %t\n", r.Addr, r.Kind, r.Name, r.Delete)
		}
		for _, p := range compiled.Policies {
			fmt.Fprintf(&objects, "# policy %s\n", p.Name)
		}
		if err := diag.Text(&messages, diag.New(diags, sources), false); err != nil {
			t.Fatal(err)
		}
		if diags.HasErrors() {
			objects.Reset() // after errors, the result must not be used
		}
		return map[string]string{"want.yaml": objects.String(), "want.diag": messages.String()}
	})
}

func TestBad(t *testing.T) {
	configtest.Bad(t, "testdata/bad", func(files fstest.MapFS) hcl.Diagnostics {
		_, diags, _ := compile(files, config.Options{Version: "0.3.1"})
		return diags
	})
}

func compile(files fstest.MapFS, opts config.Options) (config.Compiled, hcl.Diagnostics, map[string]*hcl.File) {
	module, diags := config.Load(files, opts)
	if diags.HasErrors() {
		return config.Compiled{}, diags, module.Files
	}
	compiled, compileDiags := module.Compile()
	return compiled, append(diags, compileDiags...), module.Files
}

func vars(file *fstest.MapFile) (vars []config.Var) {
	if file == nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(file.Data))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), "=")
		vars = append(vars, config.Var{Name: name, Value: value})
	}
	return vars
}
