package report

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var ours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// steersTerminal says what in text a terminal, or a runner of GitHub Actions
// that reads what programs print, would obey.
func steersTerminal(text string) string {
	for line := range strings.Lines(ours.ReplaceAllString(text, "")) {
		line = strings.TrimSuffix(line, "\n")
		if i := strings.IndexFunc(line, func(r rune) bool { return r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); i >= 0 {
			return line
		}
		if begin := strings.TrimSpace(line); strings.HasPrefix(begin, "::") || strings.Contains(line, "##[") {
			return line
		}
	}
	return ""
}

func TestTextSteersNoTerminal(t *testing.T) {
	for _, text := range hostileTexts {
		for _, o := range []Options{{}, {Color: true}, {Width: 60}, {Width: 20, Color: true, ASCII: true}} {
			if line := steersTerminal(written(t, "text", hostileParts(text), o)); line != "" {
				t.Errorf("%q: %q", text, line)
			}
			got := written(t, "text", hostile(text), o)
			if line := steersTerminal(got); line != "" {
				t.Errorf("%q: %q", text, line)
			}
			if n := len(ours.FindAllString(got, -1)); !o.Color && n > 0 || n%2 != 0 {
				t.Errorf("%q: %d escape sequences", text, n)
			}
			if o.ASCII && strings.IndexFunc(got, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
				t.Errorf("%q: not in ASCII: %q", text, got)
			}
		}
	}
}

// TestTextFitsItsPage as far as no name is longer than a line.
func TestTextFitsItsPage(t *testing.T) {
	for _, columns := range []int{80, 100, 120, 200} {
		r := fleet(20, strings.Repeat("long value ", 40))
		r.Changes = append(r.Changes, rich().Changes...)
		for line := range strings.Lines(written(t, "text", r, Options{Width: columns})) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns && strings.Contains(line, "  ") {
				t.Errorf("%d columns in a page of %d: %s", n, columns, line)
			}
		}
	}
}

// FuzzFormats holds that no text, wherever it is in a plan, breaks out of any
// format.
func FuzzFormats(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := hostile(text)
		if line := steersTerminal(written(t, "text", r, Options{Width: 70})); line != "" {
			t.Errorf("text: %q", line)
		}
		for _, format := range []string{"json", "gitlab-codequality"} {
			if got := written(t, format, r, Options{}); !json.Valid([]byte(got)) {
				t.Errorf("%s: %s", format, got)
			}
		}
		want, _ := parsed(t, written(t, "html", hostile("x"), Options{}))
		got, _ := parsed(t, written(t, "html", r, Options{}))
		for _, part := range got {
			if !slices.Contains(want, part) {
				t.Errorf("html has %s", part)
			}
		}
		for _, line := range leaks(t, written(t, "markdown", r, Options{Target: text})) {
			t.Errorf("markdown: %q", line)
		}
		for line := range strings.Lines(written(t, "github", r, Options{})) {
			if !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::warning ") {
				t.Errorf("github: %q", line)
			}
		}
		if n := strings.Count(written(t, "github-output", r, Options{}), "\n"); n != 21 {
			t.Errorf("github-output has %d lines", n)
		}
	})
}
