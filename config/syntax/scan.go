package syntax

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/diag"
)

// The limits of work that HCL does more than once for each character, in bytes and in tokens.
const (
	maxRescanned = 20 << 20  // bytes after the start of unterminated comments
	maxMelded    = 512 << 20 // bytes copied when joining the parts of texts
	maxStrange   = 20        // characters that the language does not use
)

// A lexer divides source into tokens: of a file, an expression or a template.
type lexer func(src []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)

// scan divides source into tokens, if HCL can read them in about linear time. It rejects source for
// which the parser would report an error for each character.
func scan(lex lexer, src []byte, name string, start hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics) {
	if diags := checkComments(name, src); diags.HasErrors() {
		return nil, diags
	}
	tokens, _ := lex(src, name, start)
	for _, check := range []func(hclsyntax.Tokens) hcl.Diagnostics{checkStrange, checkMelded, checkNesting} {
		if diags := check(tokens); diags.HasErrors() {
			return nil, diags
		}
	}
	return tokens, nil
}

// scanFile divides a file of native syntax into tokens.
func scanFile(name string, src []byte) (hclsyntax.Tokens, hcl.Diagnostics) {
	if signs := countSigns(src); signs > MaxSigns {
		return nil, tooLarge(name, signs, MaxSigns, "brackets and operators")
	}
	return scan(hclsyntax.LexConfig, src, name, hcl.InitialPos)
}

// checkComments rejects unterminated comments. For each, the scanner reads to the end of the file
// before it treats the slash as a division.
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
			return hcl.Diagnostics{diag.At("Unterminated comment",
				"After this place there is no */, but many comments that start with /*.",
				hcl.Range{Filename: name, Start: start, End: start})}
		}
	}
}

// checkStrange rejects text that is not a configuration: each invalid character would be an error.
func checkStrange(tokens hclsyntax.Tokens) hcl.Diagnostics {
	strange, first, unclosed := 0, hcl.Range{}, false
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenInvalid, hclsyntax.TokenBadUTF8, hclsyntax.TokenQuotedNewline,
			hclsyntax.TokenApostrophe, hclsyntax.TokenBacktick:
			if strange++; strange == 1 {
				first, unclosed = token.Range, token.Type == hclsyntax.TokenQuotedNewline
			}
		}
	}
	if strange <= maxStrange {
		return nil
	}
	if unclosed {
		return hcl.Diagnostics{diag.At("Missing quotation mark", fmt.Sprintf("A closing quotation mark is missing on this "+
			"line, so that %d characters after it cannot be read.", strange), first)}
	}
	return hcl.Diagnostics{diag.At("Not a configuration",
		fmt.Sprintf("The file contains %d characters that are not allowed outside of quotation marks; this is the first "+
			"one. Text must be in double quotes and on one line, and files must be in UTF-8.", strange), first)}
}

// checkMelded rejects text with too many parts to join. The scanner creates a part for each line of
// a heredoc and for each percent and dollar sign, and the parser joins them one by one.
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
				"The text that starts here has too many lines, or percent and dollar signs. Move it to a "+
					"separate file and read it with file(...).", begin)}
		}
	}
	return nil
}
