package lkeplan_test

import (
	"os"
	"path/filepath"
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
			for _, name := range []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
				"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"} {
				env.Vars = append(env.Vars, name)
			}
			return os.CopyFS(filepath.Join(env.WorkDir, ".ci"), os.DirFS(scripts))
		},
	})
}
