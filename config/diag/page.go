package diag

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/schemas/text"
)

// A Page is text for people that can contain untrusted words: of tenants, kubelets, API servers,
// and authors of repositories. Such words reach a terminal or a log only through a Page. Each call
// writes separate lines, independent of the words, and each line starts with words of the program
// or with Mark.
type Page struct {
	Width int // columns; 0: lines are not wrapped

	b strings.Builder
}

// Mark starts each line that continues a text, and each line of only untrusted words.
const Mark = "| "

// mostWords is the maximum number of bytes that are shown of a text.
const mostWords = 4000

// String returns the text written so far.
func (p *Page) String() string { return p.b.String() }

// Line writes one line. The format must start with a word of the program, or the name of an object.
func (p *Page) Line(indent int, format string, args ...any) {
	text := strings.TrimRight(Cell(fmt.Sprintf(format, args...)), " ")
	p.write(indent, text)
}

// Break writes an empty line.
func (p *Page) Break() { p.b.WriteByte('\n') }

// Paragraph writes a text that starts with words of the program, wrapped into lines.
func (p *Page) Paragraph(indent int, format string, args ...any) {
	lines := p.wrap(indent, fmt.Sprintf(format, args...))
	p.write(indent, lines[0])
	if len(lines) > 1 {
		for _, line := range p.wrap(indent+len(Mark), strings.Join(lines[1:], " ")) {
			p.write(indent+len(Mark), Mark+line)
		}
	}
}

// Words writes untrusted text, with Mark at the start of each line.
func (p *Page) Words(indent int, text string) {
	for line := range strings.Lines(strings.TrimSpace(Shorten(text, mostWords))) {
		for _, part := range p.wrap(indent, strings.TrimSpace(line)) {
			p.write(indent, Mark+part)
		}
	}
}

// Name returns a name that can start a line. It quotes names that no object can have.
func Name(name string) string {
	if strings.IndexFunc(name, func(r rune) bool {
		return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._", r)
	}) >= 0 {
		return strconv.Quote(name)
	}
	return name
}

// Table writes rows in columns, and right-aligns some columns.
func (p *Page) Table(rows [][]string, right ...int) {
	for _, line := range Columns(rows, right...) {
		p.Line(0, "%s", line)
	}
}

// TableOfTexts writes a table whose last column has sentences. If a row is wider than the page, its sentence is
// below it.
func (p *Page) TableOfTexts(rows [][]string) {
	wide := func(line string) bool { return utf8.RuneCountInString(line) > p.Width }
	if p.Width == 0 || !slices.ContainsFunc(Columns(rows), wide) {
		p.Table(rows)
		return
	}
	short := make([][]string, len(rows))
	for i, row := range rows {
		short[i] = row[:len(row)-1]
	}
	for i, line := range Columns(short) {
		p.Line(0, "%s", line)
		if text := rows[i][len(short[i])]; i > 0 && text != "-" {
			p.Words(2, text)
		}
	}
}

func (p *Page) wrap(indent int, text string) []string {
	text = Cell(Shorten(text, mostWords))
	width := max(p.Width, 40) - indent - len(Mark)
	if p.Width == 0 || utf8.RuneCountInString(text) <= width {
		return []string{strings.TrimSpace(text)}
	}
	return Wrap(text, width)
}

func (p *Page) write(indent int, line string) {
	p.b.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+Harmless(line), " ") + "\n")
}

// Cell returns a text as one line without tabs, which would end a cell.
func Cell(text string) string { return Harmless(strings.ReplaceAll(OneLine(text), "\t", `\u0009`)) }

// Columns is text.Columns for cells with words of others: each becomes one line that no terminal interprets.
func Columns(rows [][]string, right ...int) []string {
	shown := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			shown[i] = append(shown[i], Cell(Shorten(cell, mostWords)))
		}
	}
	return text.Columns(shown, right...)
}

// A Writer forwards text without sequences that a terminal or a CI system would interpret. Most
// commands write to it; formats with their own escaping use Plain. It is safe for concurrent use.
type Writer struct {
	Width int // columns at which Text wraps; 0: 80

	mu   sync.Mutex
	to   io.Writer
	mid  bool   // inside a line
	rest []byte // an incomplete character
}

// NewWriter returns a Writer that writes to another writer.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Plain returns the writer behind a Writer, for formats with their own escaping, and for colors.
func Plain(w io.Writer) io.Writer {
	if safe, ok := w.(*Writer); ok {
		return safe.to
	}
	return w
}

// A Recorder forwards bytes, and remembers the first error. Commands print to people without asking for errors.
type Recorder struct {
	To  io.Writer
	Err error
}

// Write implements io.Writer.
func (r *Recorder) Write(p []byte) (int, error) {
	n, err := r.To.Write(p)
	r.Err = cmp.Or(r.Err, err)
	return n, err
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	w.rest = nil
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if from := len(text) - i; utf8.RuneStart(text[from]) {
			if !utf8.FullRune(text[from:]) {
				w.rest, text = slices.Clone(text[from:]), text[:from]
			}
			break
		}
	}
	var b strings.Builder
	for line := range strings.Lines(Visible(string(text))) {
		if !w.mid {
			line = Harmless(line)
		}
		w.mid = !strings.HasSuffix(line, "\n")
		b.WriteString(line)
	}
	if _, err := io.WriteString(w.to, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}
