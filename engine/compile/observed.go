package compile

import "io/fs"

// observed is a file system that notes which files are opened, or looked for and
// found. It is for one goroutine.
type observed struct {
	fs.FS
	read map[string]bool
}

// Open implements fs.FS.
func (o *observed) Open(name string) (fs.File, error) {
	file, err := o.FS.Open(name)
	if err == nil {
		o.read[name] = true
	}
	return file, err
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
	if err == nil && info.Mode().IsRegular() {
		o.read[name] = true
	}
	return info, err
}

// ReadLink implements fs.ReadLinkFS.
func (o *observed) ReadLink(name string) (string, error) { return fs.ReadLink(o.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (o *observed) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.FS, name) }
