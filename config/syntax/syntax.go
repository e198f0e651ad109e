// Package syntax parses the text of a configuration into bodies and expressions that are safe to
// evaluate, even if the author is hostile. HCL trusts its input: deep nesting overflows the
// parser's stack, a number with a large exponent takes minutes to print, and nested loops run for
// hours; an evaluation cannot be interrupted. So text is measured before it is parsed, numbers and
// loops are checked before they are evaluated, and a meter counts the work of the evaluation.
//
// Both syntaxes, native and JSON, become native expressions, so the same limits apply to both. The
// package knows no block types and no functions.
package syntax

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
)

// MaxFileSize is the maximum size of a file, in bytes. A pool takes about 500 bytes, so it allows
// 500 pools.
const MaxFileSize = 256 << 10

// MaxSigns is the maximum number of brackets and operators in a file. A file that consists of them
// takes ten times as long to read as others.
const MaxSigns = 80_000

// Parse reads one file: JSON if the name ends in .json, native syntax otherwise. The meter counts
// the evaluation of its expressions. The file is never nil: after errors, it contains what could be
// read.
func Parse(name string, src []byte, meter *eval.Meter) (*hcl.File, hcl.Diagnostics) {
	if len(src) > MaxFileSize {
		return &hcl.File{Body: hcl.EmptyBody()}, tooLarge(name, len(src), MaxFileSize, "bytes or more")
	}
	if diags := wrongEncoding(name, src); diags.HasErrors() {
		return &hcl.File{Body: hcl.EmptyBody()}, diags
	}
	parse := parseNative
	if strings.HasSuffix(name, ".json") {
		parse = parseJSON
	}
	file, diags := parse(name, src, meter)
	if conflict := mergeConflict(name, src); diags.HasErrors() && conflict.HasErrors() {
		return &hcl.File{Body: hcl.EmptyBody(), Bytes: src}, conflict
	}
	return file, diags
}

func parseNative(name string, src []byte, meter *eval.Meter) (*hcl.File, hcl.Diagnostics) {
	if signs := countSigns(src); signs > MaxSigns {
		return &hcl.File{Body: hcl.EmptyBody(), Bytes: src}, tooLarge(name, signs, MaxSigns, "brackets and operators")
	}
	file, ok := parseParts(name, src, minPart)
	var diags hcl.Diagnostics
	if !ok {
		if _, diags := scanFile(name, src); diags.HasErrors() {
			return &hcl.File{Body: hcl.EmptyBody(), Bytes: src}, diags
		}
		file, diags = hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	}
	diags = diag.Append(diag.Append(nil, mistakes(src, diags)...), guard(file.Body.(*hclsyntax.Body), meter)...)
	return file, diags
}

func parseJSON(name string, src []byte, meter *eval.Meter) (*hcl.File, hcl.Diagnostics) {
	if diags := checkJSONNesting(name, src); diags.HasErrors() {
		return &hcl.File{Body: hcl.EmptyBody(), Bytes: src}, diags
	}
	file, diags := json.Parse(src, name)
	file.Body = nativeBody{file.Body, &jsonFile{meter, map[int]translated{}}, false}
	return file, diags
}

// Forget drops the content of a block's body, if only the places of blocks are needed: the tree of
// a file with pools takes 20 times its size. In JSON, it drops nothing.
func Forget(body hcl.Body) {
	if native, ok := body.(*hclsyntax.Body); ok {
		native.Attributes, native.Blocks = nil, nil
	}
}

// ParseExpression reads an expression outside of a file, such as the value of a flag. Messages use
// name for it.
func ParseExpression(name, src string, meter *eval.Meter) (hcl.Expression, hcl.Diagnostics) {
	if _, diags := scan(hclsyntax.LexExpression, []byte(src), name, hcl.InitialPos); diags.HasErrors() {
		return nil, diags
	}
	expr, diags := hclsyntax.ParseExpression([]byte(src), name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, mistakes([]byte(src), diags)
	}
	return expr, guard(expr, meter)
}

// Unfinished reports whether text is an incomplete expression, with an open bracket or heredoc.
func Unfinished(src string) bool {
	tokens, _ := hclsyntax.LexExpression([]byte(src), "", hcl.InitialPos)
	open := 0
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOHeredoc:
			open++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCHeredoc:
			open--
		}
	}
	return open > 0
}

// ParseTemplate reads text with interpolations, in the syntax of quoted strings.
func ParseTemplate(name, src string, meter *eval.Meter) (hcl.Expression, hcl.Diagnostics) {
	if signs := countSigns([]byte(src)); signs > MaxSigns || len(src) > MaxFileSize {
		return nil, tooLarge(name, max(signs, len(src)), MaxSigns, "brackets and operators, or bytes,")
	}
	if _, diags := scan(hclsyntax.LexTemplate, []byte(src), name, hcl.InitialPos); diags.HasErrors() {
		return nil, diags
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(src), name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	return expr, guard(expr, meter)
}

func countSigns(src []byte) (n int) {
	for _, c := range src {
		if strings.IndexByte("[](){}!-+*/%<>=?:.,&|$", c) >= 0 {
			n++
		}
	}
	return n
}

func tooLarge(name string, size, limit int, unit string) hcl.Diagnostics {
	return hcl.Diagnostics{diag.At("File too large",
		fmt.Sprintf("%s has %d %s; the limit is %d. Split it into several files.", name, size, unit,
			limit), hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos})}
}
