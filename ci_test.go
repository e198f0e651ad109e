package lkeplan_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCI runs the scripts of .ci on a Makefile of the test.
func TestCI(t *testing.T) {
	scripts, err := filepath.Abs(".ci")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/ci",
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
				"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
			return os.CopyFS(filepath.Join(env.WorkDir, ".ci"), os.DirFS(scripts))
		},
	})
}

// TestStepsHaveRules: make does nothing for a phony target without a rule, and succeeds. Steps
// are phony.
func TestStepsHaveRules(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(makefile), "\\\n", " ")
	phony := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindStringSubmatch(text)
	if phony == nil {
		t.Fatal("the Makefile has no .PHONY")
	}
	targets := strings.Fields(phony[1])
	for _, target := range targets {
		if !regexp.MustCompile(`(?m)^` + target + `:`).MatchString(text) {
			t.Errorf("the Makefile has no rule for %s", target)
		}
	}
	steps := regexp.MustCompile(`(?m)\.ci/steps (?:-k )?(.*)$|\$\(MAKE\) (?:-j4 )?([a-z -]+)$`)
	for _, line := range steps.FindAllStringSubmatch(text, -1) {
		for _, step := range strings.Fields(line[1] + line[2]) {
			if regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(step) && !slices.Contains(targets, step) {
				t.Errorf("the step %s is no phony target", step)
			}
		}
	}
}
