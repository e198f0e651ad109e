package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/config"
)

// marker is the file that makes a directory one that render writes. It lists
// the other files that were written.
const marker = ".lkeplan"

const markerHeader = `# Written by "lkeplan render -o dir". These files are replaced when it is run
# again, and deleted when their objects are gone:
`

// writeTree writes one file for each object into a directory, and a
// kustomization that lists them. The directory must be new, empty, or made by
// this function; what else is in it stays.
func writeTree(stdout io.Writer, dir string, resources []config.Object) error {
	files, err := treeOf(resources)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", dir, bare(err))
	}
	root, err := os.OpenRoot(dir) // links in it do not lead out of it
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, bare(err))
	}
	defer root.Close()
	ours, err := written(root, dir)
	if err != nil {
		return err
	}
	if err := free(root, dir, files, ours); err != nil {
		return err
	}
	// What is about to be written is listed first: whatever happens in
	// between, the next run knows its files.
	names := slices.Sorted(maps.Keys(files))
	if err := mark(root, append(ours, names...)); err != nil {
		return err
	}
	for _, name := range names {
		if err := replaceIn(root, name, files[name]); err != nil {
			return err
		}
	}
	deleted := 0
	for _, name := range ours {
		if files[name] != nil {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", name, bare(err))
		}
		deleted++
	}
	if err := mark(root, names); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d files written, %d deleted\n", dir, len(files), deleted)
	return nil
}

// treeOf returns the files of objects, by name. An object's name is a DNS
// label, so it is a file name too.
func treeOf(resources []config.Object) (map[string][]byte, error) {
	files := map[string][]byte{}
	var names []string
	for _, r := range resources {
		text, err := yaml.Marshal(r.Manifest)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.Addr, err)
		}
		name := strings.ToLower(r.Kind()) + "-" + r.Name() + ".yaml"
		names = append(names, name)
		files[name] = text
	}
	kustomization, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  names, // in the order in which they are to be applied
	})
	files["kustomization.yaml"] = kustomization
	return files, err
}

// written lists the files that an earlier run has written.
func written(root *os.Root, dir string) (names []string, err error) {
	list, err := root.ReadFile(marker)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := fs.ReadDir(root.FS(), ".")
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("%s is not empty, and lkeplan has not made it; give a new directory", dir)
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

// free checks that nothing is in the way that lkeplan has not written.
func free(root *os.Root, dir string, files map[string][]byte, ours []string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := root.Lstat(name); err == nil && !slices.Contains(ours, name) {
			return fmt.Errorf("%s/%s is in the way, and lkeplan has not written it; move it elsewhere", dir, name)
		}
	}
	return nil
}

func mark(root *os.Root, names []string) error {
	slices.Sort(names)
	return replaceIn(root, marker, []byte(markerHeader+strings.Join(slices.Compact(names), "\n")+"\n"))
}

// replaceIn writes a file and then puts it in its place. A file that has the
// same bytes already is not touched.
func replaceIn(root *os.Root, name string, data []byte) error {
	if old, err := root.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	tmp := "." + name + ".new"
	if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", name, bare(err))
	}
	if err := root.WriteFile(tmp, data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, bare(err))
	}
	if err := root.Rename(tmp, name); err != nil {
		root.Remove(tmp)
		return fmt.Errorf("write %s: %w", name, bare(err))
	}
	return nil
}
