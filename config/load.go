package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/meter"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// The limits of a directory.
const (
	maxFiles = 200
	maxBytes = 8 << 20
)

// Options are the inputs of a directory beside its files.
type Options struct {
	Dir      string // the directory within the file system; "" is its root
	Version  string // the version of this program, for required_version; "" satisfies all
	VarFiles []File // files of variable values, weakest first
	Vars     []Var  // single variable values, weakest first; stronger than all files
}

// A File is a file outside the directory.
type File struct {
	Name string
	Data []byte
}

// A Var is the value of one variable as given on a command line.
type Var struct {
	Name   string
	Value  string // the text itself for a variable of type string, else an expression
	Source string // what has set it, for messages; "" is the flag --var
}

// A Module is one directory, parsed and not yet evaluated.
type Module struct {
	Files map[string]*hcl.File // by the name in diagnostics, for showing source

	fsys        fs.FS
	root        *directory
	directories map[string]*directory // by path: the root and the modules
	size        int64                 // of all files, in bytes
	inputs      inputs
	meter       *meter.Meter
}

// Load reads and parses the configuration files of a directory and of the
// modules it calls. The module is never nil: where there are errors, it holds
// what could be read.
func Load(fsys fs.FS, opts Options) (*Module, hcl.Diagnostics) {
	dir := path.Clean("./" + opts.Dir)
	root := &directory{path: dir, calls: map[*hcl.Block]*directory{}}
	m := &Module{
		Files:       map[string]*hcl.File{},
		fsys:        fsys,
		root:        root,
		directories: map[string]*directory{dir: root},
		inputs:      inputs{},
		meter:       meter.New(),
	}
	names, diags := discover(fsys, dir)
	m.size = names.size
	diags = append(diags, m.readBlocks(fsys, names, root)...)
	if versionDiags := checkVersion(root.blocks, opts.Version); versionDiags.HasErrors() {
		return m, versionDiags // what a newer version wrote may look wrong to this one
	}
	diags = append(diags, m.callModules(fsys, root, nil)...)
	for _, name := range names.vars {
		file, fileDiags := m.parse(fsys, name)
		diags = append(append(diags, fileDiags...), m.inputs.addFile(file.Body, name)...)
	}
	for _, f := range opts.VarFiles {
		file, fileDiags := syntax.Parse(f.Name, f.Data, m.meter)
		m.Files[f.Name] = file
		diags = append(append(diags, fileDiags...), m.inputs.addFile(file.Body, f.Name)...)
	}
	for _, v := range opts.Vars {
		source := m.inputs.addFlag(v)
		m.Files[source] = &hcl.File{Body: hcl.EmptyBody(), Bytes: []byte(v.Value)}
	}
	return m, SortDiagnostics(diags)
}

// readBlocks reads the configuration files of a directory.
func (m *Module) readBlocks(fsys fs.FS, names listing, dir *directory) (diags hcl.Diagnostics) {
	for _, name := range names.config {
		file, fileDiags := m.parse(fsys, name)
		content, contentDiags := file.Body.Content(documentSchema)
		dir.blocks = append(dir.blocks, content.Blocks...)
		if fileDiags.HasErrors() {
			contentDiags = nil // what could be read may look wrong for what could not
		}
		diags = append(append(diags, fileDiags...), contentDiags...)
	}
	return diags
}

// parse reads one file. The names of files in diagnostics are those within the
// file system.
func (m *Module) parse(fsys fs.FS, name string) (*hcl.File, hcl.Diagnostics) {
	src, err := read(fsys, name)
	if err != nil {
		return &hcl.File{Body: hcl.EmptyBody()}, unreadable(name, err)
	}
	file, diags := syntax.Parse(name, src, m.meter)
	m.Files[name] = file
	return file, diags
}

// read reads a file, but no more than is needed to see that it is too large.
func read(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
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
// editors' backups and everything below the directory are left alone.
func discover(fsys fs.FS, dir string) (listing, hcl.Diagnostics) {
	var files listing
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return files, unreadable(dir, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		switch {
		case entry.IsDir() || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#"):
			continue
		case hasSuffix(name, ".auto.lkevars.hcl", ".auto.lkevars.json"):
			files.vars = append(files.vars, path.Join(dir, name))
		case hasSuffix(name, ".lke.hcl", ".lke.json"):
			files.config = append(files.config, path.Join(dir, name))
		default:
			continue
		}
		if info, err := entry.Info(); err == nil {
			files.size += info.Size()
		}
	}
	switch {
	case len(files.config) == 0:
		return files, noFiles(dir)
	case len(files.config)+len(files.vars) > maxFiles, files.size > maxBytes:
		return listing{}, tooMuch(dir)
	}
	return files, nil
}

func hasSuffix(name string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

func noFiles(dir string) hcl.Diagnostics {
	return failure("No configuration files", fmt.Sprintf("The directory %q has no files named *.lke.hcl or *.lke.json. Directories within it are not read.", dir))
}

func tooMuch(dir string) hcl.Diagnostics {
	return failure("Too many configuration files", fmt.Sprintf("The directory %q has more than %d files, or more than %d MiB. Split it by cluster.", dir, maxFiles, maxBytes>>20))
}

func unreadable(name string, err error) hcl.Diagnostics {
	return failure("Cannot read configuration", fmt.Sprintf("%s: %s.", name, cause(err)))
}

// failure is a diagnostic without a place in a file.
func failure(summary, detail string) hcl.Diagnostics {
	return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: summary, Detail: detail}}
}

// documentSchema is what may stand at the top of a file.
var documentSchema = decode.Schema(schemas.Block{Blocks: append(schemas.Document(), elsewhere()...)})
