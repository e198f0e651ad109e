package flags

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
)

// PathFrom returns a function that names a file below a root by its path from the working directory, which a
// terminal can open. Formats for programs name files by their path from the root.
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

// inText matches a line of a file in the text of a message: main.lke.hcl:3.
var inText = regexp.MustCompile(`[^\s"'(),;]+:[0-9]+`)

// Located renames the files of diagnostics as PathFrom does, also the files of lines in their text. It
// keeps the names of files that are not below the root, such as those of --var-file.
func Located(list []diag.Diagnostic, root string) []diag.Diagnostic {
	path := PathFrom(root)
	located := func(name string) string {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return name
		}
		return path(name)
	}
	for i, d := range list {
		list[i].Detail = inText.ReplaceAllStringFunc(d.Detail, func(at string) string {
			line := strings.LastIndexByte(at, ':')
			return located(at[:line]) + at[line:]
		})
		if d.Range != nil {
			d.Range.Filename = located(d.Range.Filename)
		}
	}
	return list
}
