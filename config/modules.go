package config

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/schemas"
)

// The limits of modules. Ten directories that call each other twice would
// compile to a thousand modules, each with all the names in it.
const (
	maxDirectories = 100
	maxModules     = 1000
	maxNames       = 100_000
)

// A directory is what is in the files of one module. It is read once, however
// often it is called.
type directory struct {
	path   string
	blocks hcl.Blocks
	calls  map[*hcl.Block]*directory // what the module blocks call
}

// A call is a module block on the way from the root to a directory.
type call struct {
	from string // the directory that the block is in
	at   hcl.Range
}

// callModules reads the directories that module blocks call, and those that
// they call in turn. The chain is the way to the directory.
func (m *Module) callModules(fsys fs.FS, from *directory, chain []call) (diags hcl.Diagnostics) {
	for _, block := range from.blocks.OfType(schemas.Module.Type) {
		dir, sourceDiags := sourceOf(block, from.path)
		diags = append(diags, sourceDiags...)
		if sourceDiags.HasErrors() {
			continue
		}
		way := append(slices.Clip(chain), call{from.path, block.DefRange})
		if i := slices.IndexFunc(way, func(c call) bool { return c.from == dir }); i >= 0 {
			diags = append(diags, moduleCycle(way[i:]))
			continue
		}
		called := m.directories[dir]
		if called == nil {
			var calledDiags hcl.Diagnostics
			called, calledDiags = m.called(fsys, dir, block)
			diags = append(append(diags, calledDiags...), m.callModules(fsys, called, way)...)
		}
		from.calls[block] = called
	}
	return diags
}

// called reads the directory of a module.
func (m *Module) called(fsys fs.FS, dir string, block *hcl.Block) (*directory, hcl.Diagnostics) {
	called := &directory{path: dir, calls: map[*hcl.Block]*directory{}}
	m.directories[dir] = called
	at := block.DefRange
	if len(m.directories) > maxDirectories {
		return called, hcl.Diagnostics{moduleProblem("Too many modules", fmt.Sprintf("A configuration has %d directories at most.", maxDirectories), at)}
	}
	names, diags := discover(fsys, dir)
	if m.size += names.size; m.size > maxBytes {
		return called, hcl.Diagnostics{moduleProblem("Too many configuration files", fmt.Sprintf("With the files in %s, the configuration has more than %d MiB.", dir, maxBytes>>20), at)}
	}
	for _, d := range diags {
		d.Subject = &at // without a file there is no other place for it
	}
	fileDiags := m.readBlocks(fsys, names, called)
	diags = append(append(diags, fileDiags...), misplacedInModule(called.blocks)...)
	for _, name := range names.vars {
		diags = append(diags, moduleProblem("Values that nobody reads", fmt.Sprintf("A module has its values from the block that calls it, so the file %s has no effect. Give the values there, or as defaults.", name), at))
	}
	return called, diags
}

// sourceOf returns the directory that a module block calls. What is outside of
// the file system is not there, and neither is any other place modules could
// come from: a commit has all that it compiles to.
func sourceOf(block *hcl.Block, from string) (string, hcl.Diagnostics) {
	content, _, diags := block.Body.PartialContent(decode.Schema(schemas.Module))
	attr := content.Attributes["source"]
	if attr == nil {
		return "", diags
	}
	source, diags := literalString(attr)
	if diags.HasErrors() {
		return "", diags
	}
	if !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../") && source != ".." {
		detail := fmt.Sprintf("%q is not a path. Modules are directories of this repository", source)
		return "", hcl.Diagnostics{problem("Module from elsewhere", detail+`, so the source begins with "./" or "../".`, attr.Expr)}
	}
	dir := path.Join(from, source)
	if !fs.ValidPath(dir) {
		return "", hcl.Diagnostics{problem("Module outside of the repository", fmt.Sprintf("%q leads out of the repository, and nothing outside of it is read. A repository is the nearest directory with .git.", source), attr.Expr)}
	}
	return dir, nil
}

func moduleCycle(way []call) *hcl.Diagnostic {
	var names []string
	for _, c := range way {
		names = append(names, fmt.Sprintf("%s (%s:%d)", c.from, c.at.Filename, c.at.Start.Line))
	}
	names = append(names, way[0].from)
	return moduleProblem("Modules that call each other", fmt.Sprintf("Each of these directories would have to be compiled as a part of the one before it: %s.", strings.Join(names, " → ")), way[len(way)-1].at)
}

// rootOnly are the blocks that say something about a cluster as a whole.
var rootOnly = []schemas.Block{schemas.Lkeplan, schemas.Cluster, schemas.Import, schemas.Removed, schemas.Guards, schemas.Policy}

func misplacedInModule(blocks hcl.Blocks) (diags hcl.Diagnostics) {
	for _, table := range rootOnly {
		for _, block := range blocks.OfType(table.Type) {
			detail := fmt.Sprintf("This directory is called as a module, and only the directory that is compiled has %s blocks.", table.Type)
			if table.Type == schemas.Cluster.Type {
				detail += " Its cluster is the module's too: cluster.region."
			}
			diags = append(diags, moduleProblem("Block in a module", detail, block.DefRange))
		}
	}
	return diags
}

func moduleProblem(summary, detail string, at hcl.Range) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
}
