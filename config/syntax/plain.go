package syntax

import (
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// minPiece is the minimum size of a separately parsed part, in bytes: about a block. HCL needs 20
// times as much memory for its tokens.
const minPiece = 1 << 10

// A piece is a part of a file that can be parsed separately: it starts at the beginning of a line
// and contains complete blocks and arguments.
type piece struct {
	src   []byte
	start hcl.Pos
}

// pieces divides a file into pieces of at least `least` bytes, if it is plain, as files with pools
// usually are: without templates, heredocs and anything else that the parser must not see. It
// reproduces the rules of HCL's scanner for such files in one pass over the bytes, without a list
// of all tokens. The second result is false if the scanner must be used.
func pieces(src []byte, least int) ([]piece, bool) {
	p := plain{src: src, nesting: nesting{levels: []level{{}}}}
	if !utf8.Valid(src) {
		return nil, false
	}
	var all []piece
	begin := hcl.InitialPos
	for p.at < len(src) {
		newline := p.token()
		if p.odd || p.depth() > MaxNesting || p.levels[len(p.levels)-1].chain > MaxChain {
			return nil, false
		}
		if newline {
			p.lines++
		}
		if newline && len(p.levels) == 1 && p.at-begin.Byte >= least {
			all = append(all, piece{src[begin.Byte:p.at], begin})
			begin = hcl.Pos{Line: 1 + p.lines, Column: 1, Byte: p.at}
		}
	}
	return append(all, piece{src[begin.Byte:], begin}), p.melded <= maxMelded
}

// parsePieces is hclsyntax.ParseConfig for a file in pieces, with less memory. It returns false if
// there are diagnostics, because they depend on the whole file.
func parsePieces(name string, src []byte, all []piece) (*hcl.File, bool) {
	var file *hcl.File
	var body *hclsyntax.Body
	for _, p := range all {
		parsed, diags := hclsyntax.ParseConfig(p.src, name, p.start)
		if len(diags) > 0 {
			return nil, false
		}
		if file == nil {
			file, body = parsed, parsed.Body.(*hclsyntax.Body)
			continue
		}
		if !add(body, parsed.Body.(*hclsyntax.Body)) {
			return nil, false
		}
	}
	file.Bytes = src
	return file, true
}

// add adds the content of the next piece to that of the previous ones, unless there is a duplicate
// argument.
func add(body, next *hclsyntax.Body) bool {
	for name, attr := range next.Attributes {
		if body.Attributes[name] != nil {
			return false
		}
		body.Attributes[name] = attr
	}
	body.Blocks = append(body.Blocks, next.Blocks...)
	body.SrcRange, body.EndRange = hcl.RangeBetween(body.SrcRange, next.SrcRange), next.EndRange
	return true
}

// A plain scans a plain file token by token.
type plain struct {
	nesting
	src    []byte
	at     int
	lines  int
	melded int  // an upper bound of the count of checkMelded
	odd    bool // the file is not plain
}

// token reads one token, or space between tokens, and reports whether it ends a line.
func (p *plain) token() (newline bool) {
	c := p.src[p.at]
	p.at++
	switch {
	case c == ' ' || c == '\t':
	case c == '\n':
		p.step(hclsyntax.TokenNewline)
		return true
	case c == '\r' && p.next('\n'):
		p.at++
		p.step(hclsyntax.TokenNewline)
		return true
	case c == '#', c == '/' && p.next('/'):
		return p.comment()
	case c == '"':
		p.quoted()
	case isLetter(c):
		p.word()
	case isDigit(c):
		p.number()
	default:
		p.operator(c)
	}
	return false
}

// next reports whether the next byte is c.
func (p *plain) next(c byte) bool { return p.at < len(p.src) && p.src[p.at] == c }

// comment reads to the end of the line, which is part of the comment.
func (p *plain) comment() (newline bool) {
	for p.at < len(p.src) {
		c := p.src[p.at]
		p.at++
		switch c {
		case '\n':
			p.step(hclsyntax.TokenComment)
			return true
		case '\r':
			p.odd = true
		}
	}
	p.step(hclsyntax.TokenComment)
	return false
}

// word reads a name, which can contain dashes. If it contains letters beyond ASCII, the next token
// is not plain.
func (p *plain) word() {
	for p.at < len(p.src) && (isLetter(p.src[p.at]) || isDigit(p.src[p.at]) || p.src[p.at] == '-') {
		p.at++
	}
	p.step(hclsyntax.TokenIdent)
}

// number reads digits with points between them. Other forms of numbers are not plain.
func (p *plain) number() {
	for p.at < len(p.src) && (isDigit(p.src[p.at]) || p.src[p.at] == '.') {
		p.at++
	}
	last := p.src[p.at-1]
	p.odd = p.odd || last == '.' || p.at < len(p.src) && isLetter(p.src[p.at])
	p.step(hclsyntax.TokenNumberLit)
}

// quoted reads text in quotes.
func (p *plain) quoted() {
	begin, signs := p.at, 0
	p.step(hclsyntax.TokenOQuote)
	p.odd = p.odd || p.depth() > MaxNesting
	for p.at < len(p.src) {
		c := p.src[p.at]
		p.at++
		switch {
		case c == '"':
			p.melded += 2 * signs * (p.at - begin)
			p.step(hclsyntax.TokenCQuote)
			return
		case c < ' ' && c != '\t':
			p.odd = true
		case c == '\\':
			p.odd = p.odd || p.at == len(p.src) || p.src[p.at] <= ' ' || p.src[p.at] >= utf8.RuneSelf ||
				p.src[p.at] == '$' || p.src[p.at] == '%'
			p.at++
		case c == '$' || c == '%':
			signs++
			p.odd = p.odd || p.at == len(p.src) || p.src[p.at] >= utf8.RuneSelf || isTemplate(p.src[p.at])
		}
		if p.odd {
			return
		}
	}
	p.odd = true // an unclosed quote
}

// isTemplate reports whether a character after a dollar or percent sign makes it a template, or
// similar to one.
func isTemplate(c byte) bool { return c == '{' || c == '$' || c == '%' || c == '\\' }

// pairs are the operators of two characters.
var pairs = map[[2]byte]hclsyntax.TokenType{
	{'=', '='}: hclsyntax.TokenEqualOp, {'!', '='}: hclsyntax.TokenNotEqual,
	{'>', '='}: hclsyntax.TokenGreaterThanEq, {'<', '='}: hclsyntax.TokenLessThanEq,
	{'&', '&'}: hclsyntax.TokenAnd, {'|', '|'}: hclsyntax.TokenOr,
	{':', ':'}: hclsyntax.TokenDoubleColon, {'=', '>'}: hclsyntax.TokenFatArrow,
}

// operator reads brackets and operators. It prefers the longest match.
func (p *plain) operator(c byte) {
	if p.at < len(p.src) {
		if t, ok := pairs[[2]byte{c, p.src[p.at]}]; ok {
			p.at++
			p.step(t)
			return
		}
	}
	switch c {
	case '.':
		if p.next('.') {
			p.odd = true
		}
	case '<':
		if p.next('<') { // a heredoc
			p.odd = true
		}
	case '/':
		if p.next('*') { // a comment
			p.odd = true
		}
	case '[', ']', '(', ')', '{', '}', ',', '*', '%', '+', '-', '=', '>', '!', '?', ':':
	default:
		p.odd = true
	}
	p.step(hclsyntax.TokenType(c))
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
