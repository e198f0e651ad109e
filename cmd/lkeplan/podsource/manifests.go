package podsource

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

// mostFiles bounds the files of one path.
const mostFiles = 5000

// tree reads the manifests of a path.
type tree struct {
	root    string
	files   int
	objects []workload.Object
	left    []string // what was left out, in words
}

// manifests reads a file, the files of a directory and of those below it, or for "-"
// standard input. The second are the files that were left out, in words.
func manifests(name string, stdin io.Reader) (objects []workload.Object, left []string, err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name += string(filepath.Separator) // a link to a directory is walked, too
	}
	t := tree{root: name}
	if name == "-" {
		err = t.read("standard input", stdin)
		return t.objects, nil, err
	}
	err = filepath.WalkDir(name, t.visit)
	return t.objects, t.left, err
}

// visit reads a file, if it is one.
func (t *tree) visit(file string, entry fs.DirEntry, err error) error {
	base := filepath.Base(file)
	extension := strings.ToLower(filepath.Ext(base))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", file, files.Cause(err))
	case entry.IsDir() && file != t.root && strings.HasPrefix(base, "."):
		return fs.SkipDir
	case entry.IsDir(), file != t.root && !slices.Contains([]string{".yaml", ".yml", ".json"}, extension):
		return nil
	case strings.TrimSuffix(base, filepath.Ext(base)) == "kustomization":
		t.left = append(t.left, fmt.Sprintf("%s is left out: give what kustomize builds of it.", file))
		return nil
	}
	if t.files++; t.files > mostFiles {
		return fmt.Errorf("%s: there are more than %d files", t.root, mostFiles)
	}
	return t.open(file)
}

// open reads a file. Among those of a directory, one that is none would be waited for; who
// names one may mean that of "<(kubectl get pods -o yaml)".
func (t *tree) open(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, files.Cause(err))
	case info.IsDir() || name != t.root && !info.Mode().IsRegular():
		t.left = append(t.left, fmt.Sprintf("%s is left out: it is no file.", name))
		return nil
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0:
		return fmt.Errorf("%s: it is no file", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	defer file.Close()
	return t.read(name, file)
}

// read reads the manifests of a file.
func (t *tree) read(name string, from io.Reader) error {
	found, err := migrate.ReadDocuments(from)
	if err != nil {
		return fmt.Errorf("%s: %w", name, files.Cause(err))
	}
	for _, m := range found {
		t.objects = append(t.objects, workload.Object{File: name, Document: m.Document, Fields: m.Fields})
	}
	return nil
}
