// Package load reads the files of a directory, and of the modules it calls, as
// blocks. What they mean is for package config to say.
//
// It reads from one file system and nothing else, within limits: on the number of
// files, on their size, and on the modules. It checks what can be seen without a
// value: where modules are, which version the directory is for, and blocks that
// people know from Terraform and that are written otherwise here.
package load

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// The limits of a directory.
const (
	MaxFiles = 200
	MaxBytes = 8 << 20
)

// A Directory is what is in the files of one module. It is read once, however
// often it is called.
type Directory struct {
	Path   string // in the file system
	Blocks hcl.Blocks
	Calls  map[*hcl.Block]*Directory // what the module blocks call
}

// A Tree is a directory with the modules that it calls, parsed and not yet
// evaluated.
type Tree struct {
	Root  *Directory
	Files map[string]*hcl.File // by the name in diagnostics, for showing source

	fsys        fs.FS
	meter       *eval.Meter
	directories map[string]*Directory // by path: the root and the modules
	size        int64                 // of all files, in bytes
	values      []string              // files with values of variables
	texts       map[string]string     // of files that expressions have asked for, by path
}

// Root reads the files of the root directory, without its modules. The tree is
// never nil: where there are errors, it holds what could be read.
func Root(fsys fs.FS, dir string, m *eval.Meter) (*Tree, hcl.Diagnostics) {
	root := &Directory{Path: path.Clean("./" + dir), Calls: map[*hcl.Block]*Directory{}}
	t := &Tree{
		Root: root, Files: map[string]*hcl.File{},
		fsys: fsys, meter: m, directories: map[string]*Directory{root.Path: root}, texts: map[string]string{},
	}
	names, diags := discover(fsys, root.Path)
	t.size, t.values = names.size, names.vars
	return t, append(diags, t.readBlocks(names, root)...)
}

// Modules reads the directories that module blocks call, and those that they
// call in turn.
func (t *Tree) Modules() hcl.Diagnostics { return t.callModules(t.Root, nil) }

// A Values is a file that sets variables.
type Values struct {
	Name string
	Body hcl.Body
}

// Values reads the files of the root directory that set variables, in the order
// of their names.
func (t *Tree) Values() (files []Values, diags hcl.Diagnostics) {
	for _, name := range t.values {
		file, fileDiags := t.parse(name)
		files, diags = append(files, Values{name, file.Body}), append(diags, fileDiags...)
	}
	return files, diags
}

// readBlocks reads the configuration files of a directory.
func (t *Tree) readBlocks(names listing, dir *Directory) (diags hcl.Diagnostics) {
	for _, name := range names.config {
		file, fileDiags := t.parse(name)
		content, contentDiags := file.Body.Content(documentSchema)
		dir.Blocks = append(dir.Blocks, content.Blocks...)
		if fileDiags.HasErrors() {
			contentDiags = nil // what could be read may look wrong for what could not
		}
		diags = diag.Append(diag.Append(diags, fileDiags...), contentDiags...)
	}
	return diags
}

// parse reads one file. The names of files in diagnostics are those within the
// file system.
func (t *Tree) parse(name string) (*hcl.File, hcl.Diagnostics) {
	src, err := read(t.fsys, name)
	if err != nil {
		return &hcl.File{Body: hcl.EmptyBody()}, unreadable(name, err)
	}
	file, diags := syntax.Parse(name, src, t.meter)
	t.Files[name] = file
	return file, diags
}

// read reads a file, but no more than is needed to see that it is too large.
func read(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if _, lstatErr := fs.Lstat(fsys, name); errors.Is(err, fs.ErrNotExist) && lstatErr == nil {
		return nil, errors.New("a link, and nothing is where it leads")
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file") // a pipe would be waited for
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, syntax.MaxFileSize+1))
}

// A listing is the names of the files of a directory that matter, sorted.
type listing struct {
	config, vars []string
	size         int64 // of all of them, in bytes
}

// discover lists the configuration files of one directory. Hidden files,
// editors' backups and everything below the directory are ignored.
func discover(fsys fs.FS, dir string) (listing, hcl.Diagnostics) {
	var files listing
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return files, unreadable(dir, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case entry.IsDir():
			continue
		case setsVariables(name):
			files.vars = append(files.vars, path.Join(dir, name))
		case Configures(name):
			files.config = append(files.config, path.Join(dir, name))
		default:
			continue
		}
		if info, err := entry.Info(); err == nil {
			files.size += info.Size()
			if info.Size() > syntax.MaxFileSize {
				return listing{}, hcl.Diagnostics{diag.Error("File too large",
					fmt.Sprintf("%s has %d bytes, and %d is the limit. Split it into several files.", path.Join(dir, name),
						info.Size(), syntax.MaxFileSize))}
			}
		}
	}
	switch {
	case len(files.config) == 0:
		return files, hcl.Diagnostics{diag.Error("No configuration files",
			fmt.Sprintf("The directory %q has no files named *.lke.hcl or *.lke.json. Directories within it are not "+
				"read.", dir))}
	case len(files.config)+len(files.vars) > MaxFiles, files.size > MaxBytes:
		return listing{}, hcl.Diagnostics{diag.Error("Too many configuration files",
			fmt.Sprintf("The directory %q has more than %d files, or more than %d MiB. Split it by cluster.", dir,
				MaxFiles, MaxBytes>>20))}
	}
	return files, nil
}

// Configures reports whether a file of that name is a file of configuration.
func Configures(name string) bool {
	return !hidden(name) && (strings.HasSuffix(name, ".lke.hcl") || strings.HasSuffix(name, ".lke.json"))
}

// Belongs reports whether a file of that name is read with its directory.
func Belongs(name string) bool { return Configures(name) || setsVariables(name) }

func setsVariables(name string) bool {
	return !hidden(name) && (strings.HasSuffix(name, ".auto.lkevars.hcl") || strings.HasSuffix(name, ".auto.lkevars.json"))
}

// hidden are files that an editor keeps beside those of people.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") }

func unreadable(name string, err error) hcl.Diagnostics {
	return hcl.Diagnostics{diag.Error("Cannot read configuration", fmt.Sprintf("%s: %s.", name, cause(err)))}
}

// documentSchema is what may stand at the top of a file.
var documentSchema = decode.Schema(schemas.Block{Blocks: append(schemas.Document(), terraformBlocks()...)})
