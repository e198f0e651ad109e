package schemas

import (
	"math"
	"path"
	"slices"
	"strconv"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// ReadableExtensions returns the extensions of files that a configuration can read.
func ReadableExtensions() []string {
	return []string{".hcl", ".json", ".yaml", ".yml", ".txt", ".tpl", ".tftpl", ".csv", ".toml", ".catalog"}
}

// Readable reports whether a configuration can read a file of this name.
func Readable(name string) bool { return slices.Contains(ReadableExtensions(), path.Ext(name)) }

// UTF8 returns a text as UTF-8 without a byte order mark. Programs of Windows write the mark, and PowerShell writes UTF-16. All files
// that people give to the program are read through it.
func UTF8(raw []byte) ([]byte, error) {
	text, _, err := transform.Bytes(unicode.BOMOverride(encoding.Nop.NewDecoder()), raw)
	return text, err
}

// Bytes formats an amount of memory for people, with at most one decimal place: 305.1Gi.
func Bytes(n int64) string {
	const gi, mi = 1 << 30, 1 << 20
	if n == 0 {
		return "0"
	}
	if n < gi {
		return strconv.FormatFloat(math.Round(float64(n)/mi), 'f', -1, 64) + "Mi"
	}
	return strconv.FormatFloat(math.Round(float64(n)/gi*10)/10, 'f', -1, 64) + "Gi"
}
