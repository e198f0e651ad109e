package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lkeplan/lkeplan/engine/plan"
)

// TestMarkdownKeepsInsideItsSizeWithEveryDeletion, and with every pool whose
// nodes are replaced.
func TestMarkdownKeepsInsideItsSizeWithEveryDeletion(t *testing.T) {
	for _, n := range []int{1, 20, 200, 600, 2000} {
		for _, value := range []string{"x", strings.Repeat("x", 40), strings.Repeat("`|", 500)} {
			r := fleet(n, value)
			r.Changes = append(r.Changes, plan.Change{Addr: "node_class.old", Block: "node_class", Kind: "LinodeNodeClass", Name: "old", Action: plan.Delete, Effect: plan.None})
			text := written(t, "markdown", r, Options{})
			if size := utf8.RuneCountInString(text); size > MaxComment {
				t.Errorf("%d pools take %d characters", n, size)
			}
			for _, c := range r.Changes {
				if neverOmitted(c) && !strings.Contains(text, "`"+c.Addr+"`") {
					t.Errorf("of %d pools %s is missing, which is deleted or whose nodes go", n, c.Addr)
				}
			}
			if strings.Count(text, "<details>") != strings.Count(text, "</details>") || strings.Count(text, "\n```")%2 != 0 {
				t.Errorf("%d pools: something is opened and not closed", n)
			}
		}
	}
}

// TestMarkdownLeavesOutWhatSaysLeast: the smaller the budget, the less there is,
// and never what a reviewer must see.
func TestMarkdownLeavesOutWhatSaysLeast(t *testing.T) {
	r := rich()
	full := written(t, "markdown", r, Options{})
	sizes := map[int]bool{}
	for budget := utf8.RuneCountInString(full); budget > 0; budget -= 50 {
		text := written(t, "markdown", r, Options{Target: "clusters/prod", MaxChars: budget})
		sizes[len(text)] = true
		for _, must := range []string{"`pool.batch`", "`pool.general`", "**blocked**", "**Conflict**", "🛑 refused; ⚠️ deletes 5 nodes of 1 pool, replaces 14 nodes of 1 pool"} {
			if !strings.Contains(text, must) {
				t.Fatalf("at %d characters %s is missing:\n%s", budget, must, text)
			}
		}
	}
	if len(sizes) != 5 {
		t.Errorf("there are %d lengths of a comment, want 5", len(sizes))
	}
}

// outside is Markdown without what stands in code, and without the HTML that we
// write ourselves.
func outside(t *testing.T, text string) string {
	t.Helper()
	var kept []string
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence == "" && opening.MatchString(line):
			fence = strings.TrimRight(line, "difhcl")
		case fence != "":
			if line == fence {
				fence = ""
			}
		default:
			kept = append(kept, spans(line))
		}
	}
	if fence != "" {
		t.Error("a fence is not closed")
	}
	return strings.Join(kept, "\n")
}

// spans takes the code spans out of a line, as CommonMark pairs backticks: a run
// ends at the next run of the same length.
func spans(line string) string {
	var out strings.Builder
	runs := regexp.MustCompile("`+").FindAllStringIndex(line, -1)
	done := 0
	for i := 0; i < len(runs); i++ {
		for j := i + 1; j < len(runs); j++ {
			if runs[j][1]-runs[j][0] == runs[i][1]-runs[i][0] {
				out.WriteString(line[done:runs[i][0]] + "CODE")
				done, i = runs[j][1], j
				break
			}
		}
	}
	return out.String() + line[done:]
}

var (
	opening  = regexp.MustCompile("^```+(diff|hcl)$")
	ourTags  = regexp.MustCompile(`</?(details|summary|code|sub)>|<!-- lkeplan:[A-Za-z0-9/._%-]*:v1 -->`)
	between  = regexp.MustCompile(`<code>[^<]*</code>`)
	escaped  = regexp.MustCompile(`\\[|\\]`)
	entity   = regexp.MustCompile(`&#[0-9]+;`)
	steering = regexp.MustCompile("[<>@#\\[\\]\x00-\x08\x0b-\x1f\x7f`]|https?:|javascript|GH-1|gotcha|secrets")
)

// leaks are the lines of Markdown in which something is outside of code that
// others have chosen, or that have more cells than their table.
func leaks(t *testing.T, text string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(outside(t, text), "### lkeplan: ", "")) {
		// What is between our own tags is written in entities.
		if strings.Contains(line, "<summary>") {
			line = between.ReplaceAllString(entity.ReplaceAllString(line, ""), "")
		}
		if found := steering.FindString(ourTags.ReplaceAllString(line, "")); found != "" {
			lines = append(lines, line)
		}
	}
	for line := range strings.Lines(text) {
		if bars := strings.Count(escaped.ReplaceAllString(line, ""), "|"); strings.HasPrefix(line, "| ") && bars != 6 {
			lines = append(lines, line)
		}
		if strings.IndexFunc(line, func(r rune) bool {
			return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
		}) >= 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestMarkdownCannotBeInjected: what others have chosen stays inside code.
func TestMarkdownCannotBeInjected(t *testing.T) {
	for _, text := range hostileTexts {
		for _, budget := range []int{0, 4000, 1500, 1} {
			for _, r := range []Report{hostile(text), hostileParts(text)} {
				got := written(t, "markdown", r, Options{Target: text, MaxChars: budget})
				for _, line := range leaks(t, got) {
					t.Errorf("%q: %q", text, line)
				}
				if !utf8.ValidString(got) {
					t.Errorf("%q: not UTF-8", text)
				}
			}
		}
	}
}

func TestMarkersDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, target := range []string{"a-b", "a_b", "a--b", "a b", "a%20b", "a-->b", "prod", "Prod", "prod/", "ü"} {
		got := Marker(target)
		if other, taken := seen[got]; taken {
			t.Errorf("%q and %q have the marker %q", target, other, got)
		}
		seen[got] = target
		if strings.Contains(got, "--") || strings.ContainsAny(got, "<> ") {
			t.Errorf("the marker of %q is %q", target, got)
		}
	}
}

func TestMarkdownOfNothing(t *testing.T) {
	want := fmt.Sprintf("<!-- lkeplan:%s:v1 -->\n### lkeplan: no changes\n", "clusters/prod")
	if got := written(t, "markdown", Report{}, Options{}); got != want {
		t.Errorf("got %q", got)
	}
}

// TestCutValuesAreMarked: a value that is too long for a comment or a page ends with what is missing, and where it is.
func TestCutValuesAreMarked(t *testing.T) {
	long := strings.Repeat("ü", 1990) + "the end is another one"
	for _, format := range []string{"markdown", "html"} {
		got := written(t, format, fleet(2, long), Options{All: true})
		if !strings.Contains(got, "the end i… [cut after 2000 of 2014 characters; the text output of lkeplan diff has all]") ||
			strings.Contains(got, "another one") {
			t.Errorf("%s does not say where the rest is:\n%s", format, got)
		}
		if got := written(t, format, fleet(2, long[:2*1990]), Options{All: true}); strings.Contains(got, "[cut") {
			t.Errorf("%s cuts a value of 1990 characters", format)
		}
	}
	if got := written(t, "text", fleet(2, long), Options{All: true}); !strings.Contains(strings.Join(strings.Fields(got), ""), "theendisanotherone") {
		t.Errorf("text does not have the whole value:\n%s", got)
	}
}
