package config

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// MaxRuns is the maximum number of tests of a directory. The directory is compiled for each.
const MaxRuns = 500

// A Run is one test of a directory.
type Run struct {
	Name  string
	Range hcl.Range // of the block's header

	Pods, Workloads          []string
	Base, Snapshot, At       string
	ExpectError              string
	NoLKEDaemonSets          bool
	ExpectRange, SourceRange hcl.Range // of expect_error; of base, pods or another source, or else of the header

	source load.Source
	at     int // its index in the file
}

// Read reads the tests of a directory, file by file. The files are for showing errors in them;
// after an error, no tests must run.
func Read(fsys fs.FS, dir string) (runs []Run, files map[string]*hcl.File, diags hcl.Diagnostics) {
	sources, diags := load.Tests(fsys, dir)
	files = map[string]*hcl.File{}
	names := map[string]hcl.Range{}
	for _, source := range sources {
		blocks, file, fileDiags := runBlocks(source)
		files[source.Name] = file
		if len(blocks) == 0 && !fileDiags.HasErrors() {
			fileDiags = append(fileDiags, diag.At("No tests", "The file has no run blocks.",
				hcl.Range{Filename: source.Name, Start: hcl.InitialPos, End: hcl.InitialPos}))
		}
		for i, block := range blocks {
			run := Run{Name: block.Labels[0], Range: block.DefRange, source: source, at: i}
			fileDiags = append(fileDiags, run.read(block)...)
			if earlier, again := names[run.Name]; again {
				fileDiags = append(fileDiags, diag.At("Duplicate name", fmt.Sprintf("A run named %q was already "+
					"declared at %s.",
					run.Name, diag.Line(earlier)), block.LabelRanges[0]))
			}
			names[run.Name] = block.DefRange
			runs = append(runs, run)
		}
		diags = append(diags, fileDiags...)
	}
	if len(runs) > MaxRuns {
		diags = append(diags, diag.Limit("Too many tests", fmt.Sprintf("A directory can have at most %d runs.", MaxRuns),
			runs[MaxRuns].Range))
	}
	return runs, files, diag.Sort(diags)
}

// runBlocks parses a test file.
func runBlocks(source load.Source) (hcl.Blocks, *hcl.File, hcl.Diagnostics) {
	file, diags := syntax.Parse(source.Name, source.Data)
	if diags.HasErrors() {
		return nil, file, diags
	}
	content, diags := file.Body.Content(decode.Schema(schemas.Block{Blocks: []schemas.Block{schemas.Run}}))
	return content.Blocks, file, diags
}

// blocksOf returns the blocks in a run, and the rest of its body.
func blocksOf(block *hcl.Block) (content *hcl.BodyContent, remain hcl.Body, diags hcl.Diagnostics) {
	return block.Body.PartialContent(decode.Schema(schemas.Block{Blocks: schemas.Run.Blocks}))
}

// read reads the arguments of a run, and reports errors that do not depend on values.
func (r *Run) read(block *hcl.Block) hcl.Diagnostics {
	content, remain, diags := blocksOf(block)
	table := schemas.Run
	table.Blocks = nil
	args := *block
	args.Body = remain
	written := eval.Root{Absent: "The arguments of a run must be literal. Names of the directory are available " +
		"only in assertions."}
	scope := eval.NewScope(&eval.Run{}, map[string]eval.Root{
		"var": written, "local": written, "cluster": written, "node_class": written, "pool": written,
	}, nil)
	said := decode.Block(table, &args, scope)
	diags = append(diags, said.Diags...)
	if diags.HasErrors() || !said.Whole() {
		return diags
	}
	values := said.Value.AsValueMap()
	r.Pods, r.Workloads = textsOf(values["pods"]), textsOf(values["workloads"])
	r.Base, r.Snapshot, r.At = textOf(values["base"]), textOf(values["snapshot"]), textOf(values["at"])
	r.ExpectError = textOf(values["expect_error"])
	counts := values["lke_daemonsets"]
	r.NoLKEDaemonSets = counts != cty.NilVal && !counts.IsNull() && counts.False()
	attributes, _ := remain.JustAttributes()
	r.ExpectRange, r.SourceRange = block.DefRange, block.DefRange
	if attr := attributes["expect_error"]; attr != nil {
		r.ExpectRange = attr.Expr.Range()
	}
	for _, name := range []string{"base", "snapshot", "workloads", "pods"} {
		if attr := attributes[name]; attr != nil {
			r.SourceRange = attr.Expr.Range()
		}
	}
	return append(diags, r.check(block, content, attributes)...)
}

// check reports runs that test nothing.
func (r *Run) check(block *hcl.Block, content *hcl.BodyContent, attributes hcl.Attributes) (diags hcl.Diagnostics) {
	complain := func(summary, detail string, at hcl.Range) { diags = append(diags, diag.At(summary, detail, at)) }
	if strings.TrimSpace(r.Name) == "" || strings.ContainsAny(r.Name, "\r\n") {
		complain("Invalid name", "The name of a run must be one line of text.", block.LabelRanges[0])
	}
	if given := content.Blocks.OfType("variables"); len(given) > 1 {
		complain("Duplicate block", "A run can have only one variables block.", given[1].DefRange)
	}
	asserts := content.Blocks.OfType(schemas.Assert.Type)
	for _, assert := range asserts {
		_, assertDiags := assert.Body.Content(decode.Schema(schemas.Assert))
		diags = append(diags, assertDiags...)
	}
	for _, name := range []string{"pods", "workloads", "base", "snapshot", "at", "expect_error"} {
		attr := attributes[name]
		if attr == nil {
			continue
		}
		list := slices.Concat(r.Pods, r.Workloads)
		text := map[string]string{"base": r.Base, "snapshot": r.Snapshot, "at": r.At, "expect_error": r.ExpectError}[name]
		switch {
		case name != "expect_error" && r.ExpectError != "":
			complain("Argument without effect", fmt.Sprintf("With expect_error, the directory is expected not to "+
				"compile, so %s has no effect.", name),
				attr.Range)
		case name == "pods" && len(r.Pods) == 0, name == "workloads" && len(r.Workloads) == 0,
			name != "pods" && name != "workloads" && strings.TrimSpace(text) == "",
			(name == "pods" || name == "workloads") && slices.Contains(list, ""):
			complain("Missing value", fmt.Sprintf("The argument %s is empty. Set a value, or delete the argument.", name),
				attr.Expr.Range())
		}
	}
	switch {
	case r.ExpectError != "" && len(asserts) > 0:
		complain("Assertion without effect",
			"With expect_error, the directory is expected not to compile, so there are no values to assert.",
			asserts[0].DefRange)
	case r.ExpectError == "" && attributes["expect_error"] == nil && len(asserts) == 0:
		complain("Run without assertions", "A run needs an assert block or the argument expect_error.", block.DefRange)
	}
	return diags
}

// textOf returns a literal text, or "".
func textOf(v cty.Value) string {
	if v == cty.NilVal || v.IsNull() {
		return ""
	}
	return v.AsString()
}

func textsOf(v cty.Value) (texts []string) {
	if v == cty.NilVal || v.IsNull() {
		return nil
	}
	for _, element := range v.AsValueSlice() {
		texts = append(texts, textOf(element))
	}
	return texts
}

// Blocks reads the blocks of the run: the values of
// variables, and the assertions. The file is for showing their source.
func (r *Run) Blocks() (content *hcl.BodyContent, file *hcl.File, diags hcl.Diagnostics) {
	blocks, file, diags := runBlocks(r.source)
	if diags.HasErrors() {
		return nil, file, diags
	}
	content, _, diags = blocksOf(blocks[r.at])
	return content, file, diags
}

// File returns the name of the file that declares the run.
func (r *Run) File() string { return r.source.Name }

// A Trial is a directory that was compiled for a run. Its assertions are evaluated later, when more
// values are known.
type Trial struct {
	asserts hcl.Blocks
	in      *compiler
}

// begin sets the variables of a run, and keeps its assertions.
func (m *Module) begin(r *Run) hcl.Diagnostics {
	content, file, diags := r.Blocks()
	m.Files[r.File()] = file
	if diags.HasErrors() {
		return diags
	}
	for _, values := range content.Blocks.OfType("variables") {
		diags = append(diags, m.inputs.addFile(values.Body, r.File())...)
	}
	m.asserts = content.Blocks.OfType(schemas.Assert.Type)
	return diags
}

// Judge evaluates the assertions: a result that is false, null, unknown or an error is an error.
// known contains the values of schemas.TestValues by the first part of their names.
func (t *Trial) Judge(known map[string]eval.Root) (diags hcl.Diagnostics) {
	scope := t.in.scope
	for name, root := range known {
		scope = scope.With(name, root)
	}
	earlier := len(t.in.run.Diags)
	for _, block := range t.asserts {
		found := t.in.assert(schemas.Assert, block, "Assertion failed", scope)
		content, _, _ := block.Body.PartialContent(decode.Schema(schemas.Assert))
		if attr := content.Attributes["condition"]; attr != nil && !found.HasErrors() {
			found = append(found, unknownResult(attr.Expr, scope)...)
		}
		diags = append(diags, found...)
	}
	// No assertion was evaluated before, and the directory compiled.
	return diag.Sort(append(diags, t.in.run.Diags[earlier:]...))
}

// unknownResult reports a condition that is neither true nor false.
func unknownResult(condition hcl.Expression, scope *eval.Scope) hcl.Diagnostics {
	if v, _, diags := scope.Private().Value(condition); v.IsKnown() || diags.HasErrors() {
		return diags
	}
	return hcl.Diagnostics{diag.AtExpression("Unknown result of an assertion",
		"The condition depends on a value that is not known. Nodes of a change are counted only in a run with "+
			"pods or a snapshot; without them, their numbers are known only if the change replaces and deletes "+
			"none.", condition)}
}
