package podsource

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/adopt"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/simulate/workloads"
)

// manifests reads a file, the files of a directory and of those below it, or for "-"
// standard input. The second are the files that were left out, in words.
func manifests(name string, stdin io.Reader) (objects []workloads.Object, left []string, err error) {
	if name == "-" {
		found, err := adopt.ReadManifests(stdin)
		if err != nil {
			return nil, nil, fmt.Errorf("-: %w", err)
		}
		return from("standard input", found), nil, nil
	}
	err = filepath.WalkDir(name, func(file string, entry fs.DirEntry, err error) error {
		base := filepath.Base(file)
		extension := strings.ToLower(filepath.Ext(base))
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", file, files.Cause(err))
		case entry.IsDir() && file != name && strings.HasPrefix(base, "."):
			return fs.SkipDir
		case entry.IsDir(), file != name && !slices.Contains([]string{".yaml", ".yml", ".json"}, extension):
			return nil
		case strings.TrimSuffix(base, filepath.Ext(base)) == "kustomization":
			left = append(left, fmt.Sprintf("%s is left out: give what kustomize builds of it.", file))
			return nil
		}
		found, err := readFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, files.Cause(err))
		}
		objects = append(objects, from(file, found)...)
		return nil
	})
	return objects, left, err
}

func readFile(name string) ([]map[string]any, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return adopt.ReadManifests(file)
}

func from(file string, found []map[string]any) (objects []workloads.Object) {
	for _, fields := range found {
		objects = append(objects, workloads.Object{File: file, Fields: fields})
	}
	return objects
}
