package syntax

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The sizes of parts that are parsed one by one, in bytes. Joining texts in all parts of the largest file copies no more
// than maxMelded.
const (
	minPart = 1 << 10
	maxPart = 4 << 10
)

// blockEnd is the end of a block as people write it.
var blockEnd = []byte("\n}\n")

// parseParts parses a file in parts of whole blocks, if it has no errors: HCL lists the tokens of what it parses, and they
// take a hundred times its size. A part ends after the first block after least bytes. If it returns false, the whole file
// has to be parsed. A part that ends inside of a text is an error, but not one that ends inside of a comment.
func parseParts(name string, src []byte, least int) (file *hcl.File, ok bool) {
	if bytes.Contains(src, []byte("/*")) || bytes.Contains(src, []byte("\ufeff")) { // ignored at the start of a part
		return nil, false
	}
	var body *hclsyntax.Body
	for start := hcl.InitialPos; start.Byte < len(src) || file == nil; {
		part := src[start.Byte:]
		if after := min(least, len(part)); bytes.Contains(part[after:], blockEnd) {
			part = part[:after+bytes.Index(part[after:], blockEnd)+len(blockEnd)]
		}
		if len(part) > maxPart {
			return nil, false
		}
		if _, diags := scan(hclsyntax.LexConfig, part, name, start); len(diags) > 0 {
			return nil, false
		}
		parsed, diags := hclsyntax.ParseConfig(part, name, start)
		if len(diags) > 0 {
			return nil, false
		}
		next := parsed.Body.(*hclsyntax.Body)
		if file == nil {
			file, body = parsed, next
		} else if !join(body, next) {
			return nil, false
		}
		start = hcl.Pos{Line: start.Line + bytes.Count(part, []byte("\n")), Column: 1, Byte: start.Byte + len(part)}
	}
	file.Bytes = src
	return file, true
}

// join adds the next part of a file to a body. It returns false if both have the same argument.
func join(body, next *hclsyntax.Body) bool {
	for name, attribute := range next.Attributes {
		if body.Attributes[name] != nil {
			return false
		}
		body.Attributes[name] = attribute
	}
	body.Blocks = append(body.Blocks, next.Blocks...)
	body.SrcRange, body.EndRange = hcl.RangeBetween(body.SrcRange, next.SrcRange), next.EndRange
	return true
}
