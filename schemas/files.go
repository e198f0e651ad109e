package schemas

import (
	"path"
	"slices"
)

// ReadableExtensions returns the extensions of files that a configuration can read.
func ReadableExtensions() []string {
	return []string{".hcl", ".json", ".yaml", ".yml", ".txt", ".tpl", ".tftpl", ".csv", ".toml", ".catalog"}
}

// Readable reports whether a configuration can read a file of this name.
func Readable(name string) bool { return slices.Contains(ReadableExtensions(), path.Ext(name)) }
