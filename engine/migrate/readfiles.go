package migrate

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// ReadFiles reads the objects to import from files, from the files of
// directories, and for "-" from standard input. Others are the kinds of skipped objects, sorted, and notes
// name the files of directories without objects. Left are files that cannot be read, with the reasons.
func ReadFiles(from []string, stdin io.Reader) (objects []manifests.Object, others, notes, left []string, err error) {
	kinds := map[string]bool{}
	for _, name := range from {
		found, without, unread, err := readFile(name, stdin)
		if err != nil {
			return nil, nil, nil, nil, fmt.Errorf("%s: %w", name, files.Cause(err))
		}
		notes, left = append(notes, without...), append(left, unread...)
		for _, object := range found {
			if !Meant(object.Fields) {
				kinds[passedOver(object.Fields)] = true
				continue
			}
			if meta, ok := object.Fields["metadata"].(map[string]any); ok && manifest.Kind(object.Fields) != schemas.Buffer.Object.Kind {
				delete(meta, "namespace") // which the API server ignores: no other object has a namespace
			}
			objects = append(objects, object)
		}
	}
	return objects, slices.Sorted(maps.Keys(kinds)), notes, left, nil
}

// passedOver is the kind of a skipped object, with its group if only that differs from what can be imported.
func passedOver(obj map[string]any) string {
	kind := manifest.Kind(obj)
	if _, known := ofKind(kind); known {
		return kind + " of " + manifest.APIVersion(obj)
	}
	return kind
}

// readFile reads a file, or the files of a directory and those below it.
func readFile(name string, stdin io.Reader) (objects []manifests.Object, notes, unread []string, err error) {
	if name == "-" {
		objects, err = manifests.Read("standard input", stdin)
		return objects, nil, nil, err
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		var kinds []string
		for _, table := range schemas.Document() {
			if table.Object != nil {
				kinds = append(kinds, table.Object.Kind)
			}
		}
		found, err := manifests.Directory{FS: os.DirFS(name), Root: ".", Shown: name, Kinds: kinds, Links: true}.Read()
		if err != nil {
			return nil, nil, nil, err
		}
		notes, unread := found.Notes()
		return found.Objects, notes, unread, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, nil, err
	}
	defer file.Close()
	objects, err = manifests.Read(name, file)
	return objects, nil, nil, err
}
