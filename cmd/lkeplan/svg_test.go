package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// The measures of a screen, in pixels. A character of the usual fonts is 0.6 as
// wide as it is high.
const (
	fontSize   = 14
	charWidth  = 8.4
	lineHeight = 20
	margin     = 20
	titleBar   = 40
)

const style = `
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d1d7e0 }
.bold { font-weight: 700; fill: #f0f3f6 }
.dim { fill: #8b949e }
.red { fill: #ff7b72 }
.green { fill: #7ee787 }
.yellow { fill: #e3b341 }
.blue { fill: #79c0ff }
.magenta { fill: #d2a8ff }
.cyan { fill: #76e3ea }
.title { fill: #8b949e; font-size: 13px; text-anchor: middle }
`

// svgOf draws what a program has printed, for documents: a text in a window of a terminal. Escape sequences select bold,
// dim and the eight colors; others are left out. Equal texts give equal bytes.
func svgOf(title, text string) []byte {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	columns := 0
	for _, line := range lines {
		n := 0
		for _, r := range piecesOf(line) {
			n += utf8.RuneCountInString(r.text)
		}
		columns = max(columns, n)
	}
	width := 2*margin + int(float64(columns)*charWidth+0.5)
	height := titleBar + len(lines)*lineHeight + margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d" viewBox="0 0 %d %d">`,
		width, height, width, height)
	fmt.Fprintf(&b, "\n<title>%s</title>\n<style>%s</style>\n", escaped(title), style)
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%d" height="%d" rx="10" fill="#0d1117" stroke="#3d444d"/>`,
		width-1, height-1)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="20" r="6" fill="%s"/>`, 22+20*i, color)
	}
	fmt.Fprintf(&b, "\n<text class=\"title\" x=\"%d\" y=\"25\">%s</text>\n", width/2, escaped(title))
	for i, line := range lines {
		draw(&b, line, titleBar+i*lineHeight+fontSize)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// draw writes the words of a line. Each piece has its place and length, so that
// columns are straight in any font.
func draw(b *strings.Builder, line string, y int) {
	b.WriteString("<g>")
	column := 0
	for _, r := range piecesOf(line) {
		for text := range strings.SplitAfterSeq(r.text, "  ") {
			n := utf8.RuneCountInString(text)
			before := n - utf8.RuneCountInString(strings.TrimLeft(text, " "))
			if text = strings.TrimSpace(text); text != "" {
				x, length := margin+float64(column+before)*charWidth, float64(utf8.RuneCountInString(text))*charWidth
				fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"`, x, y, length)
				if r.class != "" {
					fmt.Fprintf(b, ` class="%s"`, r.class)
				}
				fmt.Fprintf(b, ">%s</text>", escaped(text))
			}
			column += n
		}
	}
	b.WriteString("</g>\n")
}

// styledPiece is text in one style.
type styledPiece struct{ text, class string }

// piecesOf parts a line at its escape sequences.
func piecesOf(line string) (pieces []styledPiece) {
	const begin = "\x1b["
	class := ""
	for line != "" {
		text, rest, found := strings.Cut(line, begin)
		if text != "" {
			pieces = append(pieces, styledPiece{text, class})
		}
		if !found {
			break
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
		if end < 0 {
			break
		}
		if rest[end] == 'm' {
			class = classOf(rest[:end], class)
		}
		line = rest[end+1:]
	}
	return pieces
}

// classOf is the style that an escape sequence leads to from another.
func classOf(codes, class string) string {
	colors := []string{"dim", "red", "green", "yellow", "blue", "magenta", "cyan", "bold"}
	for code := range strings.SplitSeq(codes, ";") {
		n, _ := strconv.Atoi(code) // nothing stands for 0
		switch {
		case n == 0:
			class = ""
		case n == 1:
			class += " bold"
		case n == 2:
			class += " dim"
		case n >= 30 && n <= 37:
			class += " " + colors[n-30]
		case n >= 90 && n <= 97:
			class += " " + colors[n-90]
		}
	}
	return strings.TrimSpace(class)
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

func TestStylesBecomeClasses(t *testing.T) {
	svg := svgOf("t", "a\x1b[1mb\x1b[0m\x1b[1;31mc\x1b[md\x1b[2Ke\x1b[38;5;1m\n\x1b[90m<&>")
	type element struct {
		Class  string `xml:"class,attr"`
		X      string `xml:"x,attr"`
		Length string `xml:"textLength,attr"`
		Text   string `xml:",chardata"`
	}
	var got []element
	dec := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var e element
			if err := dec.DecodeElement(&e, &start); err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
	}
	want := []element{
		{"title", "41", "", "t"},
		{"", "20.0", "8.4", "a"}, {"bold", "28.4", "8.4", "b"}, {"bold red", "36.8", "8.4", "c"},
		{"", "45.2", "8.4", "d"}, {"", "53.6", "8.4", "e"},
		{"dim", "20.0", "25.2", "<&>"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
