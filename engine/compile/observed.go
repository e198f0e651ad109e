package compile

import "io/fs"

// observed is a file system that notes which files are opened. It is for one
// goroutine.
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

// Stat implements fs.StatFS, without opening the file.
func (o *observed) Stat(name string) (fs.FileInfo, error) { return fs.Stat(o.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (o *observed) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.FS, name) }
