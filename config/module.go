package config

import (
	"io/fs"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
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

// Reach returns the files that the module compiles from.
func (m *Module) Reach() load.Reach { return m.tree.Reach() }

// IsCluster reports whether the module configures a cluster, and is not a module for others to
// call.
func (m *Module) IsCluster() bool { return len(m.tree.Root.Blocks.OfType(schemas.Cluster.Type)) > 0 }

// Evaluate evaluates an expression as if it were written in the module's directory. It evaluates
// only the names that the expression refers to, so errors elsewhere do not matter. Diagnostics use
// name as the name of the expression. A module can be evaluated only once.
func (m *Module) Evaluate(name, src string) (cty.Value, hcl.Diagnostics) {
	m.Files[name] = &hcl.File{Body: hcl.EmptyBody(), Bytes: []byte(src)}
	expr, diags := syntax.ParseExpression(name, src)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	c := m.compiler()
	c.functions["type"] = function.Type
	v, _, diags := c.scope.Value(expr)
	diags = append(diags, c.run.Diags...)
	for _, d := range c.diags {
		if d.Summary == undeclared {
			diags = append(diags, d)
		}
	}
	if !diags.HasErrors() && !v.IsWhollyKnown() {
		diags = append(c.diags,
			diag.Error("Value cannot be computed", "A value that the expression refers to has an error."))
	}
	return v, diag.Sort(diags)
}

// VariableNames lists the names of the module's variables in order of declaration.
func (m *Module) VariableNames() (names []string) {
	for _, block := range m.tree.Root.Blocks.OfType(schemas.Variable.Type) {
		names = append(names, block.Labels[0])
	}
	return names
}

// A Variable is an input of a directory.
type Variable struct {
	Name        string
	Description string
	Type        cty.Type
	Value       cty.Value // from the files and options; cty.NilVal if it must be set
}

// Variables lists the variables of the module in order of declaration, with the values from its
// files and options. It evaluates only variables, so errors elsewhere do not matter. A module can
// be evaluated only once.
func (m *Module) Variables() ([]Variable, hcl.Diagnostics) {
	c := m.compiler()
	var variables []Variable
	for _, block := range c.dir.Blocks.OfType(schemas.Variable.Type) {
		content, diags := block.Body.Content(decode.Schema(schemas.Variable))
		v := Variable{Name: block.Labels[0], Type: cty.DynamicPseudoType}
		if attr := content.Attributes["description"]; attr != nil {
			text, textDiags := decode.Literal(attr)
			v.Description, diags = text, append(diags, textDiags...)
		}
		ty, typeDiags := c.constraint(content.Attributes["type"])
		diags = append(diags, typeDiags...)
		if !typeDiags.HasErrors() {
			v.Type = ty.ty
		}
		if _, given := c.inputs[v.Name]; given || content.Attributes["default"] != nil {
			value, valueDiags := c.variable(block).Eval()
			v.Value, diags = value, append(diags, valueDiags...)
		}
		c.report(diags...)
		variables = append(variables, v)
	}
	return variables, diag.Sort(append(c.diags, c.run.Diags...))
}
