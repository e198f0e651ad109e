package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// marker is the file that makes a directory one that Write has made. It lists
// the other files.
const marker = ".lkeplan"

const markerHeader = `# Written by "lkeplan render -o dir". These files are replaced when it is run
# again, and deleted when their objects are gone:
`

// Write writes objects, in the order in which they are to be applied, to a
// directory, which must be new, empty, or made by Write; other files in it stay.
// It counts the files that were written, and those of objects that are gone.
func Write(dir string, objects []map[string]any) (written, deleted int, err error) {
	contents, err := filesOf(objects)
	if err != nil {
		return 0, 0, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, 0, fmt.Errorf("create %s: %w", dir, files.Cause(err))
	}
	root, err := os.OpenRoot(dir) // links in it do not lead out of it
	if err != nil {
		return 0, 0, fmt.Errorf("open %s: %w", dir, files.Cause(err))
	}
	defer root.Close()
	earlier, err := earlierFiles(root)
	if err != nil {
		return 0, 0, err
	}
	deleted, err = updateFiles(root, earlier, contents)
	return len(contents), deleted, err
}

// filesOf returns the contents of files by name. The name of an object is a DNS
// label, so it is a file name, too.
func filesOf(objects []map[string]any) (map[string][]byte, error) {
	contents := map[string][]byte{}
	var names []string
	for _, object := range objects {
		object = withoutPrune(object)
		text, err := YAML(object)
		if bytes.Contains(text, []byte("${")) { // Flux would put the value of a variable there
			text, err = YAML(manifest.Annotated(object, schemas.FluxSubstitute, "disabled"))
		}
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", manifest.KeyOf(object), err)
		}
		kind, namespace := strings.ToLower(manifest.Kind(object)), manifest.Namespace(object)
		name := kind + "-" + manifest.Name(object) + ".yaml"
		if contents[name] != nil { // of another namespace
			name = kind + "-" + namespace + "-" + manifest.Name(object) + ".yaml"
		}
		names = append(names, name)
		contents[name] = text
	}
	kustomization, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  names,
	})
	contents["kustomization.yaml"] = kustomization
	return contents, err
}

// YAML writes an object. In YAML, unlike in JSON, U+0085 ends a line, so it is escaped.
func YAML(object map[string]any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(bytes.ReplaceAll(text, []byte("\u0085"), []byte(`\u0085`)))
}

// kept returns an object by which Flux does not prune a pool or a class when its file is gone:
// the nodes would be deleted with it, at once, and no guard is asked.
func withoutPrune(object map[string]any) map[string]any {
	if kind := manifest.Kind(object); kind != schemas.Pool.Object.Kind && kind != schemas.NodeClass.Object.Kind {
		return object
	}
	if _, written := manifest.Lookup(object, "metadata", "annotations", schemas.FluxPrune); written {
		return object
	}
	return manifest.Annotated(object, schemas.FluxPrune, "disabled")
}

// earlierFiles lists the files of a directory that an earlier run has written.
func earlierFiles(root *os.Root) (names []string, err error) {
	list, err := root.ReadFile(marker)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := fs.ReadDir(root.FS(), ".")
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("%s is not empty and was not created by lkeplan; choose a new directory", root.Name())
		}
		return nil, err
	}
	for line := range strings.Lines(string(list)) {
		name := strings.TrimSpace(line)
		// The list is a file that anybody may have changed.
		if strings.HasSuffix(name, ".yaml") && !strings.ContainsAny(name, `/\`) {
			names = append(names, name)
		}
	}
	return names, err
}

// updateFiles writes the files, and deletes those of an earlier run that are not among
// them.
func updateFiles(root *os.Root, earlier []string, contents map[string][]byte) (deleted int, err error) {
	names := slices.Sorted(maps.Keys(contents))
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil && !slices.Contains(earlier, name) {
			return 0, fmt.Errorf("%s/%s exists and was not written by lkeplan; move it elsewhere", root.Name(), name)
		}
	}
	// The list is written first: wherever this ends, the next run knows its files.
	if err := markFiles(root, slices.Concat(earlier, names)); err != nil {
		return 0, err
	}
	for _, name := range names {
		if err := files.ReplaceIn(root, name, contents[name]); err != nil {
			return 0, err
		}
	}
	for _, name := range earlier {
		if contents[name] != nil {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return deleted, fmt.Errorf("delete %s: %w", name, files.Cause(err))
		}
		deleted++
	}
	return deleted, markFiles(root, names)
}

// markFiles lists the files that are Write's own.
func markFiles(root *os.Root, names []string) error {
	slices.Sort(names)
	return files.ReplaceIn(root, marker, []byte(markerHeader+strings.Join(slices.Compact(names), "\n")+"\n"))
}
