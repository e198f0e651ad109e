package syntax

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/lkeplan/lkeplan/config/diag"
)

// Format returns a file of native syntax in canonical format. It changes only white space. A file
// with syntax errors is not formatted; the returned file shows the source of the diagnostics.
func Format(name string, src []byte) ([]byte, *hcl.File, hcl.Diagnostics) {
	file := &hcl.File{Body: hcl.EmptyBody(), Bytes: src}
	if len(src) > MaxFileSize {
		return nil, file, tooLarge(name, len(src))
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	if diags := checkNesting(tokens); diags.HasErrors() {
		return nil, file, diags
	}
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, file, diag.Append(nil, diags...)
	}
	return stable(src, tokens), file, nil
}

// stable formats until nothing changes, which HCL's formatter does not guarantee. It does not
// change source that never stabilizes, or of which more than white space would change.
func stable(src []byte, tokens hclsyntax.Tokens) []byte {
	formatted := src
	for range 4 {
		next := hclwrite.Format(formatted)
		if bytes.Equal(next, formatted) {
			return formatted
		}
		if after, _ := hclsyntax.LexConfig(next, "", hcl.InitialPos); !sameTokens(tokens, after) {
			return src
		}
		formatted = next
	}
	return src
}

func sameTokens(a, b hclsyntax.Tokens) bool {
	return slices.EqualFunc(a, b, func(a, b hclsyntax.Token) bool {
		return a.Type == b.Type && bytes.Equal(a.Bytes, b.Bytes)
	})
}
