package config

import (
	"io/fs"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// Options are the inputs of a directory in addition to its files.
type Options struct {
	Dir      string // the directory in the file system; "" is its root
	Version  string // the version of this program, for required_version; "" satisfies all
	VarFiles []File // files of variable values; later ones take precedence
	Vars     []Var  // single variable values; later ones take precedence, all of them over files
	Run      *Run   // a test, whose variables take precedence over all others; nil for none
}

// A File is a file that is given by name, not found in the directory.
type File struct {
	Name string // the name for messages
	Path string // the name in the file system; "" for a file outside of it
	Data []byte
}

// A Var is the value of one variable as given on a command line.
type Var struct {
	Name   string
	Value  string // the text itself for a variable of type string, else an expression
	Source string // its source, for messages; "" is the flag --var
	Secret bool   // must not appear in objects or messages
}

// A Module is one parsed directory that has not been evaluated.
type Module struct {
	Files map[string]*hcl.File // by the name in diagnostics, to show source

	tree    *load.Tree
	inputs  inputs
	asserts hcl.Blocks // of a test
}

// Load reads and parses the configuration files of a directory and of the modules that it calls.
// The module is never nil: if there are errors, it contains the files that could be read.
func Load(fsys fs.FS, opts Options) (*Module, hcl.Diagnostics) {
	m := &Module{inputs: inputs{}}
	var diags hcl.Diagnostics
	m.tree, diags = load.Root(fsys, opts.Dir)
	m.Files = m.tree.Files
	if versionDiags := load.CheckVersion(m.tree.Root.Blocks, opts.Version); versionDiags.HasErrors() {
		return m, versionDiags // files for a newer version may have more errors in this one
	}
	diags = append(diags, m.tree.Modules()...)
	values, valueDiags := m.tree.Values()
	diags = append(diags, valueDiags...)
	for _, file := range values {
		diags = append(diags, m.inputs.addFile(file.Body, file.Name)...)
	}
	for _, f := range opts.VarFiles {
		file, fileDiags := syntax.Parse(f.Name, f.Data)
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
