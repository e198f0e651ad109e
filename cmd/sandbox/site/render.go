package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// markdown reads what GitHub shows of documents. Raw HTML, which is comments only, is
// left out.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// rendered is a document as HTML.
type rendered struct {
	html     string
	text     string   // for the search
	headings []string // of the second level
	linked   []string // files and directories of the repository
}

// render renders a document; links of documents become links of pages.
func (s *site) render(name string) (out rendered, err error) {
	source := []byte(s.documents[name])
	ctx := parser.NewContext(parser.WithIDs(&anchors{taken: map[string]int{}}))
	doc := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(ctx))
	err = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(s.link(name, string(n.Destination), &out))
		case *ast.Image:
			n.Destination = []byte(s.link(name, string(n.Destination), &out))
		case *ast.Heading:
			if n.Level == 2 {
				out.headings = append(out.headings, words(n, source))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	var html bytes.Buffer
	if err := markdown.Renderer().Render(&html, source, doc); err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	out.html, out.text = html.String(), plain(html.String())
	return out, nil
}

// link is where a link of a document leads on the site.
func (s *site) link(from, to string, out *rendered) string {
	target, anchor, anchored := strings.Cut(to, "#")
	if strings.Contains(to, "://") || target == "" {
		return to
	}
	if anchored {
		anchor = "#" + anchor
	}
	name := path.Join(path.Dir(from), target)
	if _, ok := s.documents[path.Join(name, "README.md")]; ok {
		name = path.Join(name, "README.md")
	}
	if _, ok := s.documents[name]; ok {
		return relative(pageOf(from), pageOf(name)) + anchor
	}
	out.linked = append(out.linked, name)
	return relative(pageOf(from), s.copyOf(name)) + anchor
}

// relative is the path from one page to another.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	return up + to
}

// words is the text of a node.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	blanks = regexp.MustCompile(`\s+`)
)

// plain is HTML without its marks, for the search.
func plain(html string) string {
	entities := strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&")
	return entities.Replace(strings.TrimSpace(blanks.ReplaceAllString(tags.ReplaceAllString(html, " "), " ")))
}

// anchors names headings as GitHub does.
type anchors struct{ taken map[string]int }

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// Generate implements parser.IDs.
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(string(value)), ""), " ", "-")
	n := a.taken[id]
	a.taken[id]++
	if n > 0 {
		return fmt.Appendf(nil, "%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (a *anchors) Put(value []byte) { a.taken[string(value)]++ }
