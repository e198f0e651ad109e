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

// MaxDirectories is the maximum number of directories of a configuration.
const MaxDirectories = 100

// A call is a module block in the chain from the root to a directory.
type call struct {
	from string // the directory that contains the block
	at   hcl.Range
}

// callModules reads the directories that module blocks call, recursively. The chain leads to the
// directory.
func (t *Tree) callModules(from *Directory, chain []call) (diags hcl.Diagnostics) {
	for _, block := range from.Blocks.OfType(schemas.Module.Type) {
		dir, sourceDiags := sourceOf(block, from.Path)
		diags = append(diags, sourceDiags...)
		if sourceDiags.HasErrors() {
			continue
		}
		dir = t.onDisk(dir)
		way := append(slices.Clip(chain), call{from.Path, block.DefRange})
		if i := slices.IndexFunc(way, func(c call) bool { return c.from == dir }); i >= 0 {
			diags = append(diags, moduleCycle(way[i:]))
			continue
		}
		called := t.directories[dir]
		if called == nil {
			var calledDiags hcl.Diagnostics
			called, calledDiags = t.readModule(dir, block)
			diags = append(append(diags, calledDiags...), t.callModules(called, way)...)
		}
		from.Calls[block] = called
	}
	return diags
}

// readModule reads the directory of a module.
func (t *Tree) readModule(dir string, block *hcl.Block) (*Directory, hcl.Diagnostics) {
	called := &Directory{Path: dir, Calls: map[*hcl.Block]*Directory{}}
	t.directories[dir] = called
	at := block.DefRange
	if len(t.directories) > MaxDirectories {
		return called, hcl.Diagnostics{diag.Limit("Too many modules",
			fmt.Sprintf("A configuration can have at most %d directories.", MaxDirectories), at)}
	}
	names, diags := listFiles(t.fsys, dir)
	t.size += names.size
	if t.size > MaxBytes {
		return called, hcl.Diagnostics{diag.Limit("Too many configuration files",
			fmt.Sprintf("With the files in %s, the configuration is larger than %d MiB.", dir, MaxBytes>>20), at)}
	}
	for _, d := range diags {
		d.Subject = &at // without a file, there is no other place
	}
	fileDiags := t.readBlocks(names, called)
	diags = append(append(diags, fileDiags...), misplacedInModule(called.Blocks)...)
	for _, name := range names.vars {
		diags = append(diags, diag.At("Unused file of values",
			fmt.Sprintf("The block that calls a module sets its variables, so the file %s has no effect. Set the "+
				"values there, or as defaults.", name), at))
	}
	return called, diags
}

// sourceOf returns the directory that a module block calls. Only the file system can contain
// modules, so a commit is complete.
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
		detail := fmt.Sprintf(`%q does not start with "./" or "../". A module must be a directory of this repository`, source)
		return "", hcl.Diagnostics{diag.AtExpression("Unsupported module source",
			detail+".", attr.Expr)}
	}
	dir := path.Join(from, source)
	if !fs.ValidPath(dir) {
		return "", hcl.Diagnostics{diag.AtExpression("Module outside of the repository",
			fmt.Sprintf("%q is outside of the repository, and only files in the repository can be read. The "+
				"repository is the nearest directory with .git.", source), attr.Expr)}
	}
	return dir, nil
}

func moduleCycle(way []call) *hcl.Diagnostic {
	var names []string
	for _, c := range way {
		names = append(names, fmt.Sprintf("%s (%s)", c.from, diag.Line(c.at)))
	}
	names = append(names, way[0].from)
	return diag.At("Modules call each other in a cycle",
		fmt.Sprintf("Each of these directories calls the next one as a module: %s.",
			strings.Join(names, " → ")), way[len(way)-1].at)
}

// rootOnly lists the blocks that apply to a cluster as a whole.
var rootOnly = []schemas.Block{schemas.Lkeplan, schemas.Cluster, schemas.Import, schemas.Removed, schemas.Guards,
	schemas.Policy}

func misplacedInModule(blocks hcl.Blocks) (diags hcl.Diagnostics) {
	for _, table := range rootOnly {
		for _, block := range blocks.OfType(table.Type) {
			detail := fmt.Sprintf("This directory is called as a module, and only the root directory can have %s "+
				"blocks.", table.Type)
			if table.Type == schemas.Cluster.Type {
				detail += " A module can refer to the root's cluster block, as in cluster.region."
			}
			diags = append(diags, diag.At("Block in a module", detail, block.DefRange))
		}
	}
	return diags
}
