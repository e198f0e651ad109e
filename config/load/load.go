// Package load reads the files of a directory, and of the modules that it calls, as blocks. Package
// config interprets them. It reads from one file system only, and limits the number of files, their
// size and the number of modules.
//
// It checks what does not require values: sources of modules, the version that the directory
// requires, and Terraform blocks that have another form here.
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
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// The limits of a directory.
const (
	MaxFiles = 200
	MaxBytes = 8 << 20
)

// A Directory is the content of the files of one module. It is read once for all calls.
type Directory struct {
	Path   string // in the file system
	Blocks hcl.Blocks
	Calls  map[*hcl.Block]*Directory // the targets of its module blocks
}

// A Tree is a directory with the modules that it calls, parsed but not evaluated.
type Tree struct {
	Root  *Directory
	Files map[string]*hcl.File // by the name in diagnostics, to show source

	fsys        fs.FS
	directories map[string]*Directory // by path: the root and the modules
	size        int64                 // of all files, in bytes
	values      []string              // files with values of variables
	texts       map[string]string     // of files that expressions read, by path
}

// Root reads the files of the root directory, without its modules. The tree is never nil: after
// errors, it contains the files that could be read.
func Root(fsys fs.FS, dir string) (*Tree, hcl.Diagnostics) {
	root := &Directory{Path: path.Clean("./" + dir), Calls: map[*hcl.Block]*Directory{}}
	t := &Tree{
		Root: root, Files: map[string]*hcl.File{},
		fsys: fsys, directories: map[string]*Directory{root.Path: root}, texts: map[string]string{},
	}
	names, diags := listFiles(fsys, root.Path)
	t.size, t.values = names.size, names.vars
	return t, append(diags, t.readBlocks(names, root)...)
}

// Modules reads the directories that module blocks call, recursively.
func (t *Tree) Modules() hcl.Diagnostics { return t.callModules(t.Root, nil) }

// A Values is a file that sets variables.
type Values struct {
	Name string
	Body hcl.Body
}

// Values reads the files of the root directory that set variables, ordered by name.
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
			contentDiags = nil // a partial directory can cause more errors
		}
		diags = diag.Append(diag.Append(diags, fileDiags...), contentDiags...)
	}
	return diags
}

// parse reads one file. Diagnostics use file names relative to the file system.
func (t *Tree) parse(name string) (*hcl.File, hcl.Diagnostics) {
	src, err := readLimited(t.fsys, name)
	if err != nil {
		return &hcl.File{Body: hcl.EmptyBody()}, unreadableError(name, err)
	}
	file, diags := syntax.Parse(name, src)
	t.Files[name] = file
	return file, diags
}

// readLimited reads a file, up to one byte more than the limit.
func readLimited(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if _, lstatErr := fs.Lstat(fsys, name); errors.Is(err, fs.ErrNotExist) && lstatErr == nil {
		return nil, errors.New("broken link")
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file") // reading a pipe would block
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, syntax.MaxFileSize+1))
}

// A listing contains the names of the relevant files of a directory, sorted.
type listing struct {
	config, vars []string
	size         int64 // total size in bytes
}

// listFiles lists the configuration files of one directory. It ignores hidden files, backup files of
// editors and subdirectories.
func listFiles(fsys fs.FS, dir string) (listing, hcl.Diagnostics) {
	var files listing
	entries, err := fs.ReadDir(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return files, hcl.Diagnostics{diag.Error("Directory does not exist",
			fmt.Sprintf("There is no directory %s. Correct the path.", dir))}
	}
	if err != nil {
		return files, unreadableError(dir, err)
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
					fmt.Sprintf("%s has %d bytes; the limit is %d. Split it into several files.", path.Join(dir, name),
						info.Size(), syntax.MaxFileSize))}
			}
		}
	}
	switch {
	case len(files.config) == 0:
		return files, hcl.Diagnostics{diag.Error("No configuration files",
			fmt.Sprintf("The directory %q contains no files named *.lke.hcl or *.lke.json. Its subdirectories "+
				"are not read: name one of them.", dir))}
	case len(files.config)+len(files.vars) > MaxFiles, files.size > MaxBytes:
		return listing{}, hcl.Diagnostics{diag.Error("Too many configuration files",
			fmt.Sprintf("The directory %q contains more than %d files, or more than %d MiB. Use one directory "+
				"per cluster.", dir,
				MaxFiles, MaxBytes>>20))}
	}
	return files, nil
}

// Configures reports whether a file with this name is a configuration file.
func Configures(name string) bool {
	return !isHidden(name) && (strings.HasSuffix(name, ".lke.hcl") || strings.HasSuffix(name, ".lke.json"))
}

// Belongs reports whether a file with this name is read with its directory.
func Belongs(name string) bool { return Configures(name) || setsVariables(name) }

func setsVariables(name string) bool {
	return !isHidden(name) && (strings.HasSuffix(name, ".auto.lkevars.hcl") || strings.HasSuffix(name, ".auto.lkevars.json"))
}

// isHidden reports files that an editor stores next to the user's files.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") }

func unreadableError(name string, err error) hcl.Diagnostics {
	return hcl.Diagnostics{diag.Error("Cannot read configuration", fmt.Sprintf("%s: %s.", name, causeOf(err)))}
}

// documentSchema is the schema of the top level of a file.
var documentSchema = decode.Schema(schemas.Block{Blocks: append(schemas.Document(), terraformBlocks()...)})
