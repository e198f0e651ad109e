package syntax

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/diag"
)

// The limits of work that HCL does more often than once for each character, in
// bytes and in tokens.
const (
	maxRescanned = 20 << 20  // bytes after the beginnings of comments that have no end
	maxMelded    = 512 << 20 // bytes copied while the parts of texts are joined
	maxStrange   = 20        // characters that are not used in the language
)

// scan divides source into tokens, if HCL reads them in about linear time. It
// refuses what the parser would answer with an error for each character.
func scan(name string, src []byte) (hclsyntax.Tokens, hcl.Diagnostics) {
	if diags := checkComments(name, src); diags.HasErrors() {
		return nil, diags
	}
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	return tokens, checkTokens(tokens)
}

// checkTokens refuses tokens that the parser is not to see.
func checkTokens(tokens hclsyntax.Tokens) hcl.Diagnostics {
	for _, check := range []func(hclsyntax.Tokens) hcl.Diagnostics{checkStrange, checkMelded, checkNesting} {
		if diags := check(tokens); diags.HasErrors() {
			return diags
		}
	}
	return nil
}

// checkComments looks for comments without an end. For each of them, the scanner
// reads to the end of the file before it takes the sign for a division.
func checkComments(name string, src []byte) hcl.Diagnostics {
	first := max(0, bytes.LastIndex(src, []byte("*/")))
	rescanned := 0
	for at := first; ; at += 2 {
		next := bytes.Index(src[at:], []byte("/*"))
		if next < 0 {
			return nil
		}
		at += next
		if rescanned += len(src) - at; rescanned > maxRescanned {
			start := hcl.Pos{Line: 1 + bytes.Count(src[:at], []byte("\n")), Column: 1, Byte: at}
			return hcl.Diagnostics{diag.At("Comment without an end",
				"From here on, there is no */ any more, and many comments that begin with /*.",
				hcl.Range{Filename: name, Start: start, End: start})}
		}
	}
}

// checkStrange refuses what is no configuration at all: each such character would
// have an error of its own.
func checkStrange(tokens hclsyntax.Tokens) hcl.Diagnostics {
	strange, first := 0, hcl.Range{}
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenInvalid, hclsyntax.TokenBadUTF8, hclsyntax.TokenQuotedNewline,
			hclsyntax.TokenApostrophe, hclsyntax.TokenBacktick:
			if strange++; strange == 1 {
				first = token.Range
			}
		}
	}
	if strange <= maxStrange {
		return nil
	}
	return hcl.Diagnostics{diag.At("Not a configuration",
		fmt.Sprintf("%d characters are not used in the language where they stand, the first of them here. Text is "+
			"in double quotes and ends on its line, and files are in UTF-8.", strange), first)}
}

// checkMelded refuses text in more parts than can be joined in time. The scanner
// makes a part of each line of a heredoc, and of each percent and dollar sign; the
// parser adds them to each other one by one.
func checkMelded(tokens hclsyntax.Tokens) hcl.Diagnostics {
	length, melded, begin := 0, 0, hcl.Range{}
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
			if length == 0 {
				begin = token.Range
			} else {
				melded += length + len(token.Bytes)
			}
			length += len(token.Bytes)
		default:
			length = 0
		}
		if melded > maxMelded {
			return hcl.Diagnostics{diag.At("Text too long",
				"The text that begins here has too many lines, or percent and dollar signs. Put it into a file of "+
					"its own and read it with file(...).", begin)}
		}
	}
	return nil
}
