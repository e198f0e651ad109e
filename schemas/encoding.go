package schemas

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// UTF8 returns a text as UTF-8 without a byte order mark. Programs of Windows write the mark, and PowerShell writes UTF-16. All files
// that people give to the program are read through it.
func UTF8(raw []byte) ([]byte, error) {
	text, _, err := transform.Bytes(unicode.BOMOverride(encoding.Nop.NewDecoder()), raw)
	return text, err
}
