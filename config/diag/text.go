package diag

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxShown is the maximum number of messages that people are shown.
const maxShown = 50

// Text writes diagnostics for people, with the source line of each and a mark under the relevant
// part. With color, it uses terminal escape sequences.
func Text(w io.Writer, diags []Diagnostic, color bool) error {
	out := bufio.NewWriter(Plain(w)) // the parts are escaped separately
	style := plain
	if color {
		style = colored
	}
	columns := 80
	if safe, ok := w.(*Writer); ok {
		columns = cmp.Or(safe.Width, columns)
	}
	diags = groupEqual(diags)
	for _, d := range diags[:min(len(diags), maxShown)] {
		style.write(out, d, columns)
	}
	if more := len(diags) - maxShown; more > 0 {
		fmt.Fprintf(out, "%d more messages are not shown.\n\n", more)
	}
	return out.Flush()
}

// many is from how many equal messages on only one is written, with the places of the others.
const many = 3

// groupEqual joins equal messages about different places.
func groupEqual(diags []Diagnostic) (joined []Diagnostic) {
	message := func(d Diagnostic) string { return d.Severity + "\n" + d.Summary + "\n" + d.Detail }
	places := map[string][]string{}
	for _, d := range diags {
		if d.Range != nil {
			places[message(d)] = append(places[message(d)], fmt.Sprintf("%s:%d", d.Range.Filename, d.Range.Start.Line))
		}
	}
	for _, d := range diags {
		switch at := places[message(d)]; {
		case d.Range == nil || len(at) < many:
		case at[0] == "": // joined already
			continue
		default:
			text := strings.Join(at[1:min(len(at), 1+maxShown)], ", ")
			if more := len(at) - 1 - maxShown; more > 0 {
				text += fmt.Sprintf(" and %d more", more)
			}
			d.Detail += "\nThe same on " + text + "."
			at[0] = ""
		}
		joined = append(joined, d)
	}
	return joined
}

// JSON writes a value for programs, without characters that control a terminal or commands to a CI
// system.
func JSON(w io.Writer, v any) error { return IndentedJSON(w, v, "  ") }

// IndentedJSON is JSON with another indentation, or none.
func IndentedJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := Plain(w).Write(visibleJSON(b.Bytes()))
	return err
}

// visibleJSON escapes characters in strings that must not reach a terminal. (ASCII control
// characters are already escaped.)
func visibleJSON(doc []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(doc); {
		r, size := utf8.DecodeRune(doc[i:])
		if r >= 0x7f && isHidden(r) {
			out = append(out, doc[done:i]...)
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
			done = i + size
		}
		i += size
	}
	return bytes.ReplaceAll(append(out, doc[done:]...), []byte("##["), []byte(`\u0023#[`))
}

// A style contains the escape sequences around the parts of a message.
type style struct {
	err, warning, bold, mark, reset string
}

var (
	plain   style
	colored = style{err: "\x1b[1;31m", warning: "\x1b[1;33m", bold: "\x1b[1m", mark: "\x1b[31m", reset: "\x1b[0m"}
)

func (s style) write(w *bufio.Writer, d Diagnostic, columns int) {
	title, color := "Error", s.err
	if d.Severity == "warning" {
		title, color = "Warning", s.warning
	}
	fmt.Fprintf(w, "%s%s: %s%s%s%s\n\n", color, title, s.reset, s.bold, Harmless(d.Summary), s.reset)
	if d.Range != nil {
		s.source(w, d.Range, d.Snippet)
	}
	for paragraph := range strings.Lines(d.Detail) {
		lines := []string{strings.TrimRight(paragraph, "\n")}
		if !strings.HasPrefix(paragraph, " ") { // preformatted
			lines = Wrap(paragraph, columns-2)
		}
		for _, line := range lines {
			fmt.Fprintf(w, "  %s\n", Harmless(line))
		}
	}
	fmt.Fprintln(w)
}

// Harmless escapes the commands that GitHub's runners obey in the output of any program:
// ::error::text at the start of a line, after optional white space, and ##[error]text anywhere in
// it.
func Harmless(line string) string {
	line = strings.ReplaceAll(line, "##[", `\u0023#[`)
	text := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(text, "::") {
		return line[:len(line)-len(text)] + `\u003a` + text[1:]
	}
	return line
}

// source writes the place as file:line, which editors recognize.
func (s style) source(w *bufio.Writer, at *Range, snippet *Snippet) {
	fmt.Fprintf(w, "  on %s:%d", Harmless(at.Filename), at.Start.Line)
	if snippet == nil {
		fmt.Fprint(w, "\n\n")
		return
	}
	if snippet.Context != "" {
		fmt.Fprintf(w, ", in %s", Harmless(snippet.Context))
	}
	number := fmt.Sprint(at.Start.Line)
	gutter := strings.Repeat(" ", len(number))
	before, marked := snippet.Line[:snippet.start], snippet.Line[snippet.start:snippet.end]
	fmt.Fprintf(w, ":\n\n  %s | %s\n", number, Harmless(Visible(snippet.Line)))
	fmt.Fprintf(w, "  %s | %s%s%s%s\n", gutter, indent(before), s.mark, strings.Repeat("^", max(1, width(marked))),
		s.reset)
	for _, value := range snippet.Values {
		fmt.Fprintf(w, "  %s | %s\n", gutter, Harmless(value))
	}
	fmt.Fprintln(w)
}

// indent returns white space with the width of the text. It keeps tabs.
func indent(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return '\t'
		}
		return ' '
	}, Visible(text))
}

func width(text string) int {
	return utf8.RuneCountInString(Visible(text))
}

// Wrap wraps text to lines of at most width columns. It does not break longer words, which are
// names to copy.
func Wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// Fit wraps the lines of a text that are longer than a terminal, except rows of tables. If width is 0, it wraps none.
func Fit(text string, width int) string {
	if width == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		if utf8.RuneCountInString(line) > width && !strings.Contains(words, "  ") {
			line = indent + strings.Join(Wrap(words, max(width, 40)-len(indent)-2), "\n  "+indent)
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// AnyOf lists values of which one must be written: "a", "b" or "c".
func AnyOf(values []string) string {
	var b strings.Builder
	for i, value := range values {
		switch {
		case i > 0 && i == len(values)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", value)
	}
	return b.String()
}

// Shorten truncates text to a number of bytes, at the end of a line or a word.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := text[:most-len("…")]
	if i := strings.LastIndexAny(cut, "\n "); i > most/2 {
		cut = cut[:i]
	}
	return strings.ToValidUTF8(cut, "") + "…"
}
