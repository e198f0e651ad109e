package load

import (
	"bytes"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/decode"
)

// Reach lists the files that a directory compiles from, as far as known without evaluation. It
// never omits a file that is read, unless Open is set.
type Reach struct {
	Directories []string // directories whose configuration and value files are read, sorted
	Files       []string // files that expressions name, sorted
	// Open is set if expressions can read more files, with computed names.
	Open bool
}

// Reach returns the files that the tree compiles from.
func (t *Tree) Reach() Reach {
	r := Reach{Directories: slices.Sorted(maps.Keys(t.directories))}
	files := map[string]bool{}
	for name, file := range t.Files {
		asked, open := namedFiles(name, file)
		r.Open = r.Open || open
		for _, f := range asked {
			files[path.Join(path.Dir(name), f)] = true
		}
	}
	r.Files = slices.Sorted(maps.Keys(files))
	return r
}

// namedFiles lists the files that the expressions of a file name. The result is open if a name is
// computed, or if a template can read more files.
func namedFiles(name string, file *hcl.File) (files []string, open bool) {
	if !bytes.Contains(file.Bytes, []byte("file")) && !bytes.Contains(file.Bytes, []byte("template")) {
		return nil, false
	}
	if strings.HasSuffix(name, ".json") {
		return nil, true
	}
	parsed, diags := hclsyntax.ParseConfig(file.Bytes, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, true
	}
	_ = hclsyntax.VisitAll(parsed.Body.(*hclsyntax.Body), func(node hclsyntax.Node) hcl.Diagnostics {
		call, ok := node.(*hclsyntax.FunctionCallExpr)
		if !ok || !strings.Contains(call.Name, "file") && !strings.Contains(call.Name, "template") {
			return nil
		}
		if len(call.Args) > 0 && (call.Name == "file" || call.Name == "fileexists") {
			if literal, diags := decode.Literal(&hcl.Attribute{Expr: call.Args[0]}); !diags.HasErrors() {
				files = append(files, literal)
				return nil
			}
		}
		open = true
		return nil
	})
	return files, open
}

// Directories lists the directories with configuration files, at and below a directory.
func Directories(fsys fs.FS, below string) (found []string, err error) {
	err = fs.WalkDir(fsys, below, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != below && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && Configures(d.Name()) && !slices.Contains(found, path.Dir(name)):
			found = append(found, path.Dir(name))
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}
