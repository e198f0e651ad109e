package flags

import (
	"os"
	"path/filepath"

	"github.com/lkeplan/lkeplan/config/diag"
)

// PathFrom returns how to name a file of a root so that it can be opened from the working directory: in a
// terminal, whose reader follows it. Formats for programs name files from the root.
func PathFrom(root string) func(string) string {
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	if err != nil || root == "" {
		return func(name string) string { return name }
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(here, root)
	}
	return func(name string) string {
		path, err := filepath.Rel(here, filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || name == "" || filepath.IsAbs(name) {
			return name
		}
		return diag.OneLine(path)
	}
}

// Located names the files of diagnostics as PathFrom does. Those that are not below the root, as files of
// --var-file, have the name that they were given.
func Located(list []diag.Diagnostic, root string) []diag.Diagnostic {
	path := PathFrom(root)
	for i, d := range list {
		if d.Range == nil {
			continue
		}
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(d.Range.Filename))); err == nil {
			d.Range.Filename = path(d.Range.Filename)
			list[i] = d
		}
	}
	return list
}
