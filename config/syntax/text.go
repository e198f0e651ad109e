package syntax

import (
	"bytes"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
)

// wrongEncoding rejects text that is not UTF-8 with one error; the parser would report each
// character.
func wrongEncoding(name string, src []byte) hcl.Diagnostics {
	at := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	switch {
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}), bytes.HasPrefix(src, []byte{0xfe, 0xff}),
		len(src) > 1 && (src[0] == 0) != (src[1] == 0):
		return hcl.Diagnostics{diag.At("File is UTF-16", "The file is encoded in UTF-16. Save it as UTF-8.", at)}
	case !utf8.Valid(src):
		return hcl.Diagnostics{diag.At("File is not UTF-8", "The file is not encoded in UTF-8. Save it as UTF-8.", at)}
	}
	return nil
}

// mergeConflict reports conflict markers of Git.
func mergeConflict(name string, src []byte) hcl.Diagnostics {
	pos := hcl.InitialPos
	for line := range bytes.Lines(src) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) {
			end := pos
			end.Column, end.Byte = len(line)+1, pos.Byte+len(line)
			return hcl.Diagnostics{diag.At("Merge conflict",
				"This line is a conflict marker of Git. Resolve the conflict and delete the markers.",
				hcl.Range{Filename: name, Start: pos, End: end})}
		}
		pos.Line++
		pos.Byte += len(line)
	}
	return nil
}
