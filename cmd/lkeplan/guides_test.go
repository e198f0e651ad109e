package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/examples/guidetest"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestGuides runs the commands in the READMEs of the examples that need no cluster. The
// end-to-end tests run the others. -update writes the output into the READMEs.
func TestGuides(t *testing.T) {
	const examples = "../../examples"
	for _, guide := range guides(t, examples) {
		name := filepath.Base(filepath.Dir(guide))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guidetest.Runner{
				Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C.UTF-8"},
				Update: golden.Updating(),
			}.Run(t, examples, name)
		})
	}
}

// guides are the paths of the guides below a directory.
func guides(t *testing.T, examples string) []string {
	t.Helper()
	paths, err := filepath.Glob(examples + "/*/README.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	return paths
}

// wordsOfGuides are words of lkeplan that a guide explains if it uses them, and a pattern of each explanation.
var wordsOfGuides = map[string]string{
	`NodePlan`:               `NodePlans?\b.{0,50}\bobjects? (that|in)`,
	`CapacityLimit`:          `limits. (block|argument)|limits? over several pools`,
	`[Gg]uards?\b`:           `limits? (on|what) (one|what) change|in the .guards. block|limit on what one change`,
	`guards? (and|or) polic`: `[Cc]onditions? (on a plan|that a plan must meet)`,
	`\b[Ff]reezes?\b`:        `times? (without|in which)`,
	`\b[Ww]indows?\b`:        `times? in which`,
	`\b[Rr]ings?\b`:          `[Gg]roups? of clusters`,
	`\b[Bb]uffers?\b`:        `headroom|virtual pods`,
	`[Oo]verlay\b`:           `NodeOverlay`,
	`[Pp]lan types?\b`:       `[Ss]izes? of Linodes?|kinds? of Linode`,
	`[Ss]oak time\b`:         `ready for the soak time|must be ready`,
	`[Dd]uring. blocks?\b`:   `recurring times`,
}

// TestGuidesExplainOwnWords: the prose of a guide explains the words of lkeplan that it uses.
func TestGuidesExplainOwnWords(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```.*?```")
	span := regexp.MustCompile("`[^`]*`")
	withoutPaths := func(code string) string {
		if strings.ContainsAny(code, "-./: ") { // a command, a path, an address or a label
			return ""
		}
		return code
	}
	for _, guide := range guides(t, "../../examples") {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		prose := strings.Join(strings.Fields(blocks.ReplaceAllString(string(text), "")), " ")
		prose = span.ReplaceAllStringFunc(prose, withoutPaths)
		for word, explained := range wordsOfGuides {
			if regexp.MustCompile(word).MatchString(prose) && !regexp.MustCompile(explained).MatchString(prose) {
				t.Errorf("%s uses %s and does not explain it", guide, word)
			}
		}
	}
}
