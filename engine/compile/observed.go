package compile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/files"
)

// Reads is what a compilation has looked at. If all of it is the same, so is the result.
type Reads struct {
	Files       []string // that were asked for, sorted; some of them are not there
	Directories []string // that were listed, sorted
}

// Look compiles a directory for what it looks at, whether it compiles or not.
func Look(ctx context.Context, fsys fs.FS, opts Options) Reads {
	files := observe(fsys)
	observedDir(ctx, files, opts)
	return Reads{slices.Sorted(maps.Keys(files.asked)), slices.Sorted(maps.Keys(files.listed))}
}

// observed is a file system that notes which files are opened, or looked for and found, and
// what could not be read as Git means it. It is for one goroutine.
type observed struct {
	fs.FS
	read   map[string]bool
	asked  map[string]bool // for, whether they are there or not
	listed map[string]bool
	failed error // the first files.Unreadable; nil for none
}

func observe(fsys fs.FS) *observed {
	return &observed{FS: fsys, read: map[string]bool{}, asked: map[string]bool{}, listed: map[string]bool{}}
}

// unreadable is the error of what was not read as Git means it. It takes the place of all
// others: an expression may have caught it, as try does, and what follows from it is noise.
func (o *observed) unreadable() hcl.Diagnostics {
	if o.failed == nil {
		return nil
	}
	detail := o.failed.Error()
	if !strings.Contains(detail, "\n") { // which a command follows
		detail += "."
	}
	return hcl.Diagnostics{diag.Error("File not as Git has it", detail)}
}

// fails notes an error about a file. A link that leads to itself is what a fetched commit has
// in the place of each link and submodule.
func (o *observed) fails(name string, err error) error {
	if errors.Is(err, syscall.ELOOP) {
		err = files.NotFetched(name)
	}
	if unreadable, ok := errors.AsType[files.Unreadable](err); ok && o.failed == nil {
		o.failed = unreadable
	}
	return err
}

// Open implements fs.FS.
func (o *observed) Open(name string) (fs.File, error) {
	o.asked[name] = true
	file, err := o.FS.Open(name)
	if err != nil {
		return nil, o.fails(name, err)
	}
	if err := o.pointer(name); err != nil {
		file.Close()
		return nil, err
	}
	o.read[name] = true
	return file, nil
}

// pointer is an error if a file is a pointer of Git LFS.
func (o *observed) pointer(name string) error {
	file, err := o.FS.Open(name)
	if err != nil {
		return o.fails(name, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	begins, err := io.ReadAll(io.LimitReader(file, 1024))
	if err == nil && files.IsPointer(begins) {
		return o.fails(name, &fs.PathError{Op: "open", Path: name, Err: files.Pointer(name)})
	}
	return nil
}

// Stat implements fs.StatFS.
func (o *observed) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(o.FS, name)
	return o.found(name, info, err)
}

// Lstat implements fs.ReadLinkFS.
func (o *observed) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(o.FS, name)
	return o.found(name, info, err)
}

func (o *observed) found(name string, info fs.FileInfo, err error) (fs.FileInfo, error) {
	o.asked[name] = true
	if err == nil && info.Mode().IsRegular() {
		o.read[name] = true
	}
	return info, o.fails(name, err)
}

// ReadLink implements fs.ReadLinkFS.
func (o *observed) ReadLink(name string) (string, error) { return fs.ReadLink(o.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (o *observed) ReadDir(name string) ([]fs.DirEntry, error) {
	o.listed[name] = true
	entries, err := fs.ReadDir(o.FS, name)
	return entries, o.fails(name, err)
}
