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
	Name   string // "" if missing
	Reason string // "" if missing
	Range  hcl.Range

	first, last int // the lines that it applies to
}

// Covers reports whether the comment applies to a place.
func (i Ignore) Covers(at *hcl.Range) bool {
	return at != nil && at.Filename == i.Range.Filename && i.first <= at.Start.Line && at.Start.Line <= i.last
}

// Ignores returns the comments that suppress findings, by file and line.
func Ignores(files map[string]*hcl.File) []Ignore {
	var all []Ignore
	for name, file := range files {
		body, ok := file.Body.(*hclsyntax.Body)
		if !ok || !bytes.Contains(file.Bytes, []byte(ignoreDirective)) {
			continue // JSON, or the usual case
		}
		all = append(all, ignoresIn(name, file.Bytes, body)...)
	}
	slices.SortFunc(all, func(a, b Ignore) int { return CompareRanges(&a.Range, &b.Range) })
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
		ignore, ok := parseIgnore(token)
		if !ok {
			continue
		}
		if !ownLine {
			ignore.first = line
		}
		ignores = append(ignores, ignore)
	}
	after := map[int]int{} // the first line after it that does not contain only a comment, by line
	for n := range slices.Backward(ignores) {
		i := &ignores[n]
		if i.first == 0 { // above: several comments all apply to the line after them
			i.first = i.Range.Start.Line + 1
			for commented[i.first] {
				i.first = max(i.first+1, after[i.first])
			}
			after[i.Range.Start.Line] = i.first
		}
		i.last = lastLine(body, i.first)
	}
	return ignores
}

// parseIgnore reads a comment; ok is false for comments that suppress nothing.
func parseIgnore(comment hclsyntax.Token) (ignore Ignore, ok bool) {
	text := strings.TrimLeft(string(comment.Bytes), "#/* \t")
	rest, ok := strings.CutPrefix(text, ignoreDirective)
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], " \t\r\n*") {
		return Ignore{}, false
	}
	rest = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "*/"))
	start, length := comment.Range.Start, len(bytes.TrimRight(comment.Bytes, "\r\n"))
	ignore.Range = comment.Range
	ignore.Range.End = hcl.Pos{Line: start.Line, Column: start.Column + length, Byte: start.Byte + length}
	ignore.Name, ignore.Reason, _ = strings.Cut(rest, " ")
	ignore.Reason = strings.TrimSpace(ignore.Reason)
	return ignore, true
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
