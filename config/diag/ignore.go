package diag

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ignoreDirective starts a comment that suppresses a finding.
const ignoreDirective = "lkeplan:ignore"

// An Ignore is a comment that suppresses the findings of one rule in one place:
//
//	# lkeplan:ignore NAME reason
//
// It is on the line above a block, an argument or an element, or at the end of its line. Above a block,
// it applies to everything in the block. JSON has no comments.
type Ignore struct {
	Name string

	file        string
	first, last int // the lines that it applies to
}

// Covers reports whether the comment applies to a place.
func (i Ignore) Covers(at *hcl.Range) bool {
	return at != nil && at.Filename == i.file && i.first <= at.Start.Line && at.Start.Line <= i.last
}

// Ignores returns the comments that suppress findings.
func Ignores(files map[string]*hcl.File) []Ignore {
	var all []Ignore
	for name, file := range files {
		body, ok := file.Body.(*hclsyntax.Body)
		if !ok || !bytes.Contains(file.Bytes, []byte(ignoreDirective)) {
			continue // JSON, or the usual case
		}
		all = append(all, ignoresIn(name, file.Bytes, body)...)
	}
	return all
}

func ignoresIn(name string, src []byte, body *hclsyntax.Body) []Ignore {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	commented := map[int]bool{} // lines that contain only a comment
	var ignores []Ignore
	for n, token := range tokens {
		if token.Type != hclsyntax.TokenComment {
			continue
		}
		line := token.Range.Start.Line
		ownLine := n == 0 || tokens[n-1].Range.End.Line < line || strings.HasSuffix(string(tokens[n-1].Bytes), "\n")
		if ownLine {
			commented[line] = true
		}
		rule := ignoredRule(token)
		if rule == "" {
			continue
		}
		ignore := Ignore{Name: rule, file: name, first: line, last: line}
		if ownLine {
			ignore.first = 0
		}
		ignores = append(ignores, ignore)
	}
	after := map[int]int{} // the first line after it that does not contain only a comment, by line
	for n := range slices.Backward(ignores) {
		i := &ignores[n]
		if i.first == 0 { // above: several comments all apply to the line after them
			i.first = i.last + 1
			for commented[i.first] {
				i.first = max(i.first+1, after[i.first])
			}
			after[i.last] = i.first
		}
		i.last = lastLine(body, i.first)
	}
	return ignores
}

// ignoredRule is the rule that a comment ignores; "" if it ignores none.
func ignoredRule(comment hclsyntax.Token) string {
	text := strings.TrimLeft(string(comment.Bytes), "#/* \t")
	rest, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSpace(text), "*/"), ignoreDirective)
	if words := strings.Fields(rest); ok && len(words) > 0 && strings.TrimLeft(rest, " \t\r\n") != rest {
		return words[0]
	}
	return ""
}

// lastLine returns the last line of the outermost block or argument that starts on a line; the line
// itself if there is none.
func lastLine(body *hclsyntax.Body, line int) int {
	for _, attr := range body.Attributes {
		if attr.SrcRange.Start.Line == line {
			return attr.SrcRange.End.Line
		}
	}
	for _, block := range body.Blocks {
		switch at := block.Range(); {
		case at.Start.Line == line:
			return block.CloseBraceRange.End.Line
		case at.Start.Line < line && line <= block.CloseBraceRange.End.Line:
			return lastLine(block.Body, line)
		}
	}
	return line
}
