package diag_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config/diag"
)

// TestPageLinesStartWithOwnWords: no untrusted words start a line.
func TestPageLinesStartWithOwnWords(t *testing.T) {
	const evil = "theirs\n-> theirs\r\n::error::theirs\x1b[2J\u202e\u200b\u3164\t##[error] theirs theirs theirs theirs theirs theirs"
	p := diag.Page{Width: 40}
	p.Line(2, "pool %s:", evil)
	p.Paragraph(2, "it says %s", evil)
	p.Words(2, evil)
	p.Table([][]string{{"POOL", "SAYS"}, {diag.Name(evil), evil}}, 1)
	p.Words(2, strings.Repeat("theirs ", 1<<20/7))
	for line := range strings.Lines(p.String()) {
		text := strings.TrimLeft(line, " ")
		if strings.HasPrefix(text, "theirs") || strings.HasPrefix(text, "->") || strings.HasPrefix(text, "::") ||
			strings.Contains(text, "##[") || strings.ContainsFunc(strings.TrimSuffix(text, "\n"), unicode.IsControl) {
			t.Errorf("%q", line)
		}
	}
	if n := len(p.String()); n > 20_000 {
		t.Errorf("%d bytes are shown", n)
	}
}

// TestPage checks the lines of each text.
func TestPage(t *testing.T) {
	p := diag.Page{Width: 44}
	p.Line(0, "%s: %d", "web", 1)
	p.Paragraph(2, "a sentence that takes more than one line to write")
	p.Break()
	p.Words(2, "one\n\ntwo words that take more than one line to write")
	p.Table([][]string{{"NAME", "N"}, {"a", "10"}, {"long", "5"}}, 1)
	p.TableOfTexts([][]string{{"NAME", "N", "MESSAGE"}, {"a", "10", "a sentence that takes more than one line"}, {"long", "5", "-"}})
	p.TableOfTexts([][]string{{"NAME", "MESSAGE"}, {"a", "it fits"}})
	want := `web: 1
  a sentence that takes more than one line
    | to write

  | one
  |
  | two words that take more than one line
  | to write
NAME   N
a     10
long   5
NAME  N
a     10
  | a sentence that takes more than one line
long  5
NAME  MESSAGE
a     it fits
`
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestWriterEscapes text in any chunks, and Plain returns the writer behind it.
func TestWriterEscapes(t *testing.T) {
	var out bytes.Buffer
	w := diag.NewWriter(&out)
	text := "a \x1b[31m ü\u202e\n::error::x\n  ::warning::x ##[x]\n"
	for _, b := range []byte(text) {
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e") || !strings.Contains(out.String(), " ü\\u202e\n") {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if want := "a \\u001b[31m ü\\u202e\n\\u003a:error::x\n  \\u003a:warning::x \\u0023#[x]\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if diag.Plain(w) != &out || diag.Plain(&out) != &out {
		t.Error("it is another writer")
	}
}

// TestJSONEscapes text without changing its value.
func TestJSONEscapes(t *testing.T) {
	var out bytes.Buffer
	if err := diag.JSON(&out, "\u009b31m\u202e\u200b\U000e0041##[error]é\x7f"); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `"\u009b31m\u202e\u200b\udb40\udc41\u0023#[error]é\u007f"`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestWriterKeepsColorsOfDiagnostics, because their texts are already escaped.
func TestWriterKeepsColorsOfDiagnostics(t *testing.T) {
	var out bytes.Buffer
	if err := diag.Text(diag.NewWriter(&out), []diag.Diagnostic{{Severity: "error", Summary: "No"}}, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\x1b[1;31mError") {
		t.Errorf("%q", out.String())
	}
}
