package load

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// MaxDirectories bounds the directories of a configuration.
const MaxDirectories = 100

// A call is a module block on the way from the root to a directory.
type call struct {
	from string // the directory that the block is in
	at   hcl.Range
}

// callModules reads the directories that module blocks call, and those that
// they call in turn. The chain is the way to the directory.
func (t *Tree) callModules(from *Directory, chain []call) (diags hcl.Diagnostics) {
	for _, block := range from.Blocks.OfType(schemas.Module.Type) {
		dir, sourceDiags := sourceOf(block, from.Path)
		diags = append(diags, sourceDiags...)
		if sourceDiags.HasErrors() {
			continue
		}
		way := append(slices.Clip(chain), call{from.Path, block.DefRange})
		if i := slices.IndexFunc(way, func(c call) bool { return c.from == dir }); i >= 0 {
			diags = append(diags, moduleCycle(way[i:]))
			continue
		}
		called := t.directories[dir]
		if called == nil {
			var calledDiags hcl.Diagnostics
			called, calledDiags = t.called(dir, block)
			diags = append(append(diags, calledDiags...), t.callModules(called, way)...)
		}
		from.Calls[block] = called
	}
	return diags
}

// called reads the directory of a module.
func (t *Tree) called(dir string, block *hcl.Block) (*Directory, hcl.Diagnostics) {
	called := &Directory{Path: dir, Calls: map[*hcl.Block]*Directory{}}
	t.directories[dir] = called
	at := block.DefRange
	if len(t.directories) > MaxDirectories {
		return called, hcl.Diagnostics{diag.Limit("Too many modules",
			fmt.Sprintf("A configuration has %d directories at most.", MaxDirectories), at)}
	}
	names, diags := discover(t.fsys, dir)
	if t.size += names.size; t.size > MaxBytes {
		return called, hcl.Diagnostics{diag.Limit("Too many configuration files",
			fmt.Sprintf("With the files in %s, the configuration has more than %d MiB.", dir, MaxBytes>>20), at)}
	}
	for _, d := range diags {
		d.Subject = &at // without a file there is no other place for it
	}
	fileDiags := t.readBlocks(names, called)
	diags = append(append(diags, fileDiags...), misplacedInModule(called.Blocks)...)
	for _, name := range names.vars {
		diags = append(diags, diag.At("Values that nobody reads",
			fmt.Sprintf("A module has its values from the block that calls it, so the file %s has no effect. Give "+
				"the values there, or as defaults.", name), at))
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
	source, diags := decode.Literal(attr)
	if diags.HasErrors() {
		return "", diags
	}
	if !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../") && source != ".." {
		detail := fmt.Sprintf("%q is not a path. Modules are directories of this repository", source)
		return "", hcl.Diagnostics{diag.AtExpression("Module from elsewhere",
			detail+`, so the source begins with "./" or "../".`, attr.Expr)}
	}
	dir := path.Join(from, source)
	if !fs.ValidPath(dir) {
		return "", hcl.Diagnostics{diag.AtExpression("Module outside of the repository",
			fmt.Sprintf("%q leads out of the repository, and nothing outside of it is read. A repository is the "+
				"nearest directory with .git.", source), attr.Expr)}
	}
	return dir, nil
}

func moduleCycle(way []call) *hcl.Diagnostic {
	var names []string
	for _, c := range way {
		names = append(names, fmt.Sprintf("%s (%s)", c.from, diag.Line(c.at)))
	}
	names = append(names, way[0].from)
	return diag.At("Modules that call each other",
		fmt.Sprintf("Each of these directories would have to be compiled as a part of the one before it: %s.",
			strings.Join(names, " → ")), way[len(way)-1].at)
}

// rootOnly are the blocks that say something about a cluster as a whole.
var rootOnly = []schemas.Block{schemas.Lkeplan, schemas.Cluster, schemas.Import, schemas.Removed, schemas.Guards,
	schemas.Policy}

func misplacedInModule(blocks hcl.Blocks) (diags hcl.Diagnostics) {
	for _, table := range rootOnly {
		for _, block := range blocks.OfType(table.Type) {
			detail := fmt.Sprintf("This directory is called as a module, and only the directory that is compiled "+
				"has %s blocks.", table.Type)
			if table.Type == schemas.Cluster.Type {
				detail += " Its cluster is the module's too: cluster.region."
			}
			diags = append(diags, diag.At("Block in a module", detail, block.DefRange))
		}
	}
	return diags
}
