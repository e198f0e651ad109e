package syntax

import (
	"bytes"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
)

// wrongEncoding refuses what is not text in UTF-8, once: the parser would complain
// of each character.
func wrongEncoding(name string, src []byte) hcl.Diagnostics {
	at := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	switch {
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}), bytes.HasPrefix(src, []byte{0xfe, 0xff}),
		len(src) > 1 && (src[0] == 0) != (src[1] == 0):
		return hcl.Diagnostics{diag.At("Text in UTF-16", "The file is text in UTF-16. Save it as UTF-8.", at)}
	case !utf8.Valid(src):
		return hcl.Diagnostics{diag.At("Not text in UTF-8", "The file is not text in UTF-8. Save it in that encoding.", at)}
	}
	return nil
}

// mergeConflict finds the marks that Git leaves where it could not merge.
func mergeConflict(name string, src []byte) hcl.Diagnostics {
	pos := hcl.InitialPos
	for line := range bytes.Lines(src) {
		if bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) {
			end := pos
			end.Column, end.Byte = len(line)+1, pos.Byte+len(line)
			return hcl.Diagnostics{diag.At("Merge conflict",
				"This is the mark of a merge conflict that nobody has settled. Keep one of the versions, or parts of both, and "+
					"remove the lines with the marks.", hcl.Range{Filename: name, Start: pos, End: end})}
		}
		pos.Line++
		pos.Byte += len(line)
	}
	return nil
}
