package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lkeplan": checked})
}

// checkShared lets a program fail if it has modified data that objects share.
const checkShared = "LKEPLAN_TEST_CHECK_SHARED"

// checked runs the program, and checks the data that its objects share.
func checked() {
	code := program()
	if os.Getenv(checkShared) != "" {
		for _, value := range kube.BuiltinValidator().Altered() {
			fmt.Fprintf(os.Stderr, "data that objects share was modified: %v\n", value)
			code = 99
		}
	}
	os.Exit(code)
}

// shared sets checkShared for the programs of a script.
func shared(env *testscript.Env) error {
	env.Setenv(checkShared, "yes")
	return nil
}

// TestScripts runs the scripts of the command line: each is a directory with commands that run
// in it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       golden.Updating(),
		Setup:               shared,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"steps": runSteps},
	})
}

// runSteps runs the commands of a GitHub workflow or a GitLab pipeline, except those that install lkeplan.
func runSteps(ts *testscript.TestScript, _ bool, args []string) {
	type step struct{ Name, Run string }
	var pipeline struct {
		Jobs    map[string]struct{ Steps []step }
		LKEPlan struct{ Script []string } `json:"lkeplan"`
	}
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(args[0])), &pipeline))
	var scripts []string
	for _, job := range pipeline.Jobs {
		for _, s := range job.Steps {
			if s.Run != "" && s.Name != "Install" && s.Name != "Comment" {
				scripts = append(scripts, s.Run)
			}
		}
	}
	if script := pipeline.LKEPlan.Script; len(script) > 0 {
		scripts = []string{strings.Join(script, "\n")} // in one shell
	}
	if len(scripts) == 0 {
		ts.Fatalf("%s has no steps", args[0])
	}
	ts.Setenv("GITHUB_STEP_SUMMARY", ts.MkAbs("../summary.md"))
	ts.Setenv("RUNNER_TEMP", ts.MkAbs(".."))
	for _, script := range scripts {
		ts.Check(ts.Exec("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script))
	}
}
