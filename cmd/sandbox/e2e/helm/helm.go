// Package helm runs Helm, as tools.mod has it, on the chart of this repository. It knows
// no cluster but that of the environment.
package helm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lkeplan/lkeplan/cmd/sandbox/e2e/programs"
)

// Chart is the chart's directory, from the root of the repository, where Helm runs.
const Chart = "kube/chart"

// Helm runs commands of Helm with directories of its own.
type Helm struct {
	root string
	env  []string
}

// New returns a Helm that keeps what it has to keep in a directory, with more
// environment, such as KUBECONFIG=FILE.
func New(dir string, env ...string) (*Helm, error) {
	root, err := programs.Repository()
	if err != nil {
		return nil, err
	}
	for _, what := range []string{"CACHE", "CONFIG", "DATA"} {
		env = append(env, "HELM_"+what+"_HOME="+filepath.Join(dir, what))
	}
	return &Helm{root: root, env: env}, nil
}

// Run runs one command and returns what it prints. An error has what Helm says.
func (h *Helm) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"tool", "-modfile=tools.mod", "helm"}, args...)...)
	cmd.Dir, cmd.Env = h.root, append(os.Environ(), h.env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}
