package config

import (
	"io/fs"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// Options are the inputs of a directory besides its files.
type Options struct {
	Dir      string // the directory within the file system; "" is its root
	Version  string // the version of this program, for required_version; "" satisfies all
	VarFiles []File // files of variable values, weakest first
	Vars     []Var  // single variable values, weakest first; stronger than all files
	Run      *Run   // a test, whose variables are stronger than all others; nil for none
}

// A File is a file that is named, and not found in the directory.
type File struct {
	Name string // as it is named to people
	Path string // in the file system; "" for a file outside of it
	Data []byte
}

// A Var is the value of one variable as given on a command line.
type Var struct {
	Name   string
	Value  string // the text itself for a variable of type string, else an expression
	Source string // what has set it, for messages; "" is the flag --var
	Secret bool   // it must not get into objects or messages
}

// A Module is one directory, parsed and not yet evaluated.
type Module struct {
	Files map[string]*hcl.File // by the name in diagnostics, for showing source

	tree    *load.Tree
	inputs  inputs
	meter   *eval.Meter
	asserts hcl.Blocks // of a test
}

// Load reads and parses the configuration files of a directory and of the
// modules it calls. The module is never nil: where there are errors, it holds
// what could be read.
func Load(fsys fs.FS, opts Options) (*Module, hcl.Diagnostics) {
	m := &Module{inputs: inputs{}, meter: eval.NewMeter()}
	var diags hcl.Diagnostics
	m.tree, diags = load.Root(fsys, opts.Dir, m.meter)
	m.Files = m.tree.Files
	if versionDiags := load.CheckVersion(m.tree.Root.Blocks, opts.Version); versionDiags.HasErrors() {
		return m, versionDiags // what a newer version wrote may look wrong to this one
	}
	diags = append(diags, m.tree.Modules()...)
	values, valueDiags := m.tree.Values()
	diags = append(diags, valueDiags...)
	for _, file := range values {
		diags = append(diags, m.inputs.addFile(file.Body, file.Name)...)
	}
	for _, f := range opts.VarFiles {
		file, fileDiags := syntax.Parse(f.Name, f.Data, m.meter)
		m.Files[f.Name] = file
		diags = append(append(diags, fileDiags...), m.inputs.addFile(file.Body, f.Name)...)
	}
	for _, v := range opts.Vars {
		source := m.inputs.addFlag(v)
		if !v.Secret { // its source would be shown
			m.Files[source] = &hcl.File{Body: hcl.EmptyBody(), Bytes: []byte(v.Value)}
		}
	}
	if opts.Run != nil {
		diags = append(diags, m.begin(opts.Run)...)
	}
	return m, diag.Sort(load.Advise(diags))
}
