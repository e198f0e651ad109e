// Package syntax parses the text of a configuration into bodies and expressions. It limits the size of a file, and how deep
// text is nested, which would overflow the stack of HCL's parser. It knows no block types and no functions.
package syntax

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/diag"
)

// MaxFileSize is the maximum size of a file, in bytes. A pool takes about 500 bytes, so it allows
// 500 pools.
const MaxFileSize = 256 << 10

// Parse reads one file: JSON if the name ends in .json, native syntax otherwise. The file is never nil: after errors, it
// contains what could be read.
func Parse(name string, src []byte) (*hcl.File, hcl.Diagnostics) {
	if len(src) > MaxFileSize {
		return &hcl.File{Body: hcl.EmptyBody()}, tooLarge(name, len(src))
	}
	if diags := wrongEncoding(name, src); diags.HasErrors() {
		return &hcl.File{Body: hcl.EmptyBody()}, diags
	}
	parse := parseNative
	if strings.HasSuffix(name, ".json") {
		parse = parseJSON
	}
	file, diags := parse(name, src)
	if conflict := mergeConflict(name, src); diags.HasErrors() && conflict.HasErrors() {
		return &hcl.File{Body: hcl.EmptyBody(), Bytes: src}, conflict
	}
	return file, diags
}

func parseNative(name string, src []byte) (*hcl.File, hcl.Diagnostics) {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	if diags := checkNesting(tokens); diags.HasErrors() {
		return &hcl.File{Body: hcl.EmptyBody(), Bytes: src}, diags
	}
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	return file, diag.Append(diag.Append(nil, mistakes(src, diags)...), strict(file.Body.(*hclsyntax.Body))...)
}

func parseJSON(name string, src []byte) (*hcl.File, hcl.Diagnostics) {
	if diags := checkJSONNesting(name, src); diags.HasErrors() {
		return &hcl.File{Body: hcl.EmptyBody(), Bytes: src}, diags
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")) // the parser of HCL skips it
	file, diags := json.Parse(src, name)
	file.Body = strictBody{file.Body}
	return file, diags
}

// Forget drops the content of a block's body, if only the places of blocks are needed: the tree of
// a file with pools takes 20 times its size. In JSON, it drops nothing.
func Forget(body hcl.Body) {
	if native, ok := body.(*hclsyntax.Body); ok {
		native.Attributes, native.Blocks = nil, nil
	}
}

// Wrapped returns the expression of a JSON string that consists of one expression, "${pool.web}": addresses and types are
// read, not evaluated. It returns any other expression as it is.
func Wrapped(expr hcl.Expression) hcl.Expression {
	if _, native := expr.(hclsyntax.Expression); native {
		return expr
	}
	v, diags := expr.Value(nil) // without a context, strings are not templates
	if diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return expr
	}
	parsed, diags := hclsyntax.ParseTemplate([]byte(v.AsString()), expr.Range().Filename, expr.Range().Start)
	if wrap, ok := parsed.(*hclsyntax.TemplateWrapExpr); ok && !diags.HasErrors() {
		return wrap.Wrapped
	}
	return expr
}

// ParseExpression reads an expression outside of a file, such as the value of a flag. Messages use
// name for it.
func ParseExpression(name, src string) (hcl.Expression, hcl.Diagnostics) {
	tokens, _ := hclsyntax.LexExpression([]byte(src), name, hcl.InitialPos)
	if diags := checkNesting(tokens); diags.HasErrors() {
		return nil, diags
	}
	expr, diags := hclsyntax.ParseExpression([]byte(src), name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, mistakes([]byte(src), diags)
	}
	return expr, strict(expr)
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
func ParseTemplate(name, src string) (hcl.Expression, hcl.Diagnostics) {
	if len(src) > MaxFileSize {
		return nil, tooLarge(name, len(src))
	}
	tokens, _ := hclsyntax.LexTemplate([]byte(src), name, hcl.InitialPos)
	if diags := checkNesting(tokens); diags.HasErrors() {
		return nil, diags
	}
	expr, diags := hclsyntax.ParseTemplate([]byte(src), name, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	return expr, strict(expr)
}

func tooLarge(name string, size int) hcl.Diagnostics {
	return hcl.Diagnostics{diag.At("File too large",
		fmt.Sprintf("%s has %d bytes or more; the limit is %d. Split it into several files.", name, size, MaxFileSize),
		hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos})}
}
