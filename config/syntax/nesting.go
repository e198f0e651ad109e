package syntax

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/diag"
)

// The limits of recursion, in the parser and in walks of its trees. People nest about ten levels,
// and chain about ten operators.
const (
	MaxNesting = 100
	MaxChain   = 1000
)

// A nesting counts the recursion depth of the parser at the current token: brackets and templates,
// conditionals, template directives, runs of unary operators. Enough of any of them would overflow
// the stack.
type nesting struct {
	levels       []level
	conditionals int // over all levels
	directives   int
	unary        int
}

// A level is one open bracket, quote or template sequence.
type level struct {
	conditionals int // question marks since the last comma or equals sign
	chain        int // operators, indexes and attributes since then
}

// checkNesting rejects text that would overflow the parser's stack. The lexer does not recurse.
func checkNesting(tokens hclsyntax.Tokens) hcl.Diagnostics {
	n := nesting{levels: []level{{}}}
	for i, token := range tokens {
		n.step(token.Type)
		if token.Type == hclsyntax.TokenTemplateControl && i+1 < len(tokens) {
			n.directive(string(tokens[i+1].Bytes))
		}
		if n.depth() > MaxNesting || n.levels[len(n.levels)-1].chain > MaxChain {
			return tooDeep(token.Range)
		}
	}
	return nil
}

func (n *nesting) depth() int {
	return len(n.levels) + n.conditionals + n.directives + n.unary
}

func (n *nesting) step(t hclsyntax.TokenType) {
	switch t {
	case hclsyntax.TokenBang, hclsyntax.TokenMinus:
		n.unary++
		n.levels[len(n.levels)-1].chain++
		return
	case hclsyntax.TokenComment, hclsyntax.TokenNewline:
		return
	}
	n.unary = 0
	top := &n.levels[len(n.levels)-1]
	if chains(t) {
		top.chain++
	}
	switch t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		n.levels = append(n.levels, level{})
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		n.conditionals -= top.conditionals
		*top = level{}
		if len(n.levels) > 1 {
			n.levels = n.levels[:len(n.levels)-1]
		}
	case hclsyntax.TokenQuestion:
		top.conditionals++
		n.conditionals++
	case hclsyntax.TokenComma, hclsyntax.TokenEqual:
		n.conditionals -= top.conditionals
		*top = level{}
	}
}

// chains reports whether a token makes the tree deeper without recursion of the parser.
func chains(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenPlus, hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPercent,
		hclsyntax.TokenAnd, hclsyntax.TokenOr, hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual,
		hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq, hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq,
		hclsyntax.TokenDot, hclsyntax.TokenOBrack:
		return true
	}
	return false
}

// directive tracks %{ if } and %{ for }, which nest without brackets.
func (n *nesting) directive(keyword string) {
	switch keyword {
	case "if", "for":
		n.directives++
	case "endif", "endfor":
		n.directives--
	}
}

// checkJSONNesting is checkNesting for JSON and the templates in its strings.
func checkJSONNesting(name string, src []byte) hcl.Diagnostics {
	depth, quoted, start := 0, false, 0
	pos := hcl.InitialPos
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\n':
			pos.Line++
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			if quoted {
				start = i
				continue
			}
			pos.Byte = start
			var text string
			if json.Unmarshal(src[start:i+1], &text) != nil {
				continue // the parser reports it
			}
			tokens, _ := hclsyntax.LexTemplate([]byte(text), name, pos)
			if diags := checkNesting(tokens); diags.HasErrors() {
				return diags
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > MaxNesting {
			pos.Byte = i
			return tooDeep(hcl.Range{Filename: name, Start: pos, End: pos})
		}
	}
	return nil
}

func tooDeep(at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{diag.At("Nested too deeply",
		fmt.Sprintf("Brackets, templates and conditionals can be nested at most %d deep, and at most %d "+
			"operators can follow one another. Move parts to locals.", MaxNesting, MaxChain), at)}
}
