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

// Reads is what a compilation has read. If all of it is unchanged, so is the result.
type Reads struct {
	Files       []string // sorted; some of them may not exist
	Directories []string // that were listed, sorted
}

// Look returns what compiling a directory reads, regardless of errors.
func Look(ctx context.Context, fsys fs.FS, opts Options) Reads {
	files := observe(fsys)
	observedDir(ctx, files, opts)
	return Reads{slices.Sorted(maps.Keys(files.asked)), slices.Sorted(maps.Keys(files.listed))}
}

// observed is a file system that records which files are opened or found, and what could not be read
// as Git stores it. It is not safe for concurrent use.
type observed struct {
	fs.FS
	read   map[string]bool
	asked  map[string]bool // requested files, whether they exist or not
	listed map[string]bool
	failed error // the first files.Unreadable; nil for none
}

func observe(fsys fs.FS) *observed {
	return &observed{FS: fsys, read: map[string]bool{}, asked: map[string]bool{}, listed: map[string]bool{}}
}

// unreadable returns the error of a file that was not read as Git stores it. It replaces all other errors:
// an expression such as try may have caught it, and later errors follow from it.
func (o *observed) unreadable() hcl.Diagnostics {
	if o.failed == nil {
		return nil
	}
	detail := o.failed.Error()
	if !strings.Contains(detail, "\n") { // otherwise it ends with a command
		detail += "."
	}
	return hcl.Diagnostics{diag.Error("File differs from Git", detail)}
}

// fails records an error about a file. Fetching a commit writes a link to itself instead of each link
// and submodule.
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

// pointer returns an error if a file is a pointer of Git LFS.
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
