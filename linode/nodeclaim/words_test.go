package nodeclaim

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestQuotedTextIsEscaped, on one line and within their bytes.
func TestQuotedTextIsEscaped(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                   {"", `""`},
		"words":                     {"swap is on", `"swap is on"`},
		"lines":                     {"swap is on\n\nlkeplan:\tall is well\r\n", `"swap is on lkeplan: all is well"`},
		"a quote":                   {`on"; it has joined`, `"on\"; it has joined"`},
		"what a terminal obeys":     {"\x1b[2J\u202eok\u0085", `"\x1b[2J\u202eok"`},
		"bytes that are no text":    {"a\xff\xfeb", `"a?b"`},
		"too long":                  {strings.Repeat("word ", 1000), ""},
		"a megabyte without spaces": {strings.Repeat("x", 1<<20), ""},
		"all of it is escaped":      {strings.Repeat("\x00", 1<<20), ""},
		"long signs":                {strings.Repeat("é\u202e\U000e0041", 1000), ""},
		"cut inside a sign":         {strings.Repeat("é", 400), ""},
	} {
		got := Quoted(c.text, 200)
		if c.want != "" && got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if len(got) > 200 || !utf8.ValidString(got) || got[0] != '"' || got[len(got)-1] != '"' ||
			strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%s: %d bytes: %s", name, len(got), got)
		}
		if c.want == "" && (len(got) < 150 || !strings.HasSuffix(got, `..."`)) {
			t.Errorf("%s: cut to %s", name, got)
		}
	}
}

// TestAMessageFitsAnEvent: the API server refuses a longer one, and nothing is said.
func TestAMessageFitsAnEvent(t *testing.T) {
	if got := Shorten("short"); got != "short" {
		t.Error(got)
	}
	for _, text := range []string{strings.Repeat("é", 600), strings.Repeat("a", 1001), "a" + strings.Repeat("é", 600)} {
		if got := Shorten(text); len(got) > 1000 || len(got) < 990 || !utf8.ValidString(got) || !strings.HasSuffix(got, " ...") {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
}
