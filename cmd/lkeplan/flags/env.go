package flags

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/release"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Env is all that commands know of the process they run in.
type Env struct {
	Stdin   io.Reader
	Stdout  io.Writer // for people; run makes it a diag.Writer
	Stderr  io.Writer // likewise
	Getenv  func(string) string
	Environ func() []string
	Color   bool // whether Stderr is a terminal that shows colors
}

// Data is standard output for formats that are escaped by their own rules, and for colors.
func (e *Env) Data() io.Writer { return diag.Plain(e.Stdout) }

// An Outcome is an exit code that is no error: what a command found.
type Outcome int

// The outcomes. An error of any kind exits with 1 instead.
const (
	Fine    Outcome = 0
	Changes Outcome = 2 // there are some, and the command was asked to say so; for import, where there must be none
	Refused Outcome = 3 // by a guard or a policy
	Stale   Outcome = 4 // the cluster has changed since a plan was saved
)

// Error implements error.
func (o Outcome) Error() string { return fmt.Sprintf("exit code %d", int(o)) }

// AsError is nil where all is fine.
func (o Outcome) AsError() error {
	if o == Fine {
		return nil
	}
	return o
}

// ErrReported is returned by commands that have said themselves what is wrong.
var ErrReported = errors.New("reported")

// Report prints diagnostics and returns an error if there are errors among
// them.
func Report(env *Env, compiled compile.Result, diags hcl.Diagnostics) error {
	if err := diag.Text(env.Stderr, Located(diag.New(diags, compiled.Files), compiled.Root), env.Color); err != nil {
		return err
	}
	if !diags.HasErrors() {
		return nil
	}
	fmt.Fprintln(env.Stderr, diag.Count(diags))
	return ErrReported
}

// Linode is a client of the Linode API at LINODE_URL, with the token in LINODE_TOKEN. The
// error where there is none says what it has to be allowed.
func Linode(env *Env, may string) (*api.Client, error) {
	token := env.Getenv("LINODE_TOKEN")
	if token == "" {
		return nil, fmt.Errorf("no Linode API token; set LINODE_TOKEN to one that may %s", may)
	}
	return api.New(env.Getenv("LINODE_URL"), token, api.Options{})
}

// Regions completes the name of a region by those of the built-in catalogue.
func Regions(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	if known, err := catalog.Embedded(); err == nil {
		for _, region := range known.Regions() {
			names = append(names, cobra.CompletionWithDesc(region.ID, region.Label))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Versions says what the program was built from: its own version and commit, and
// those of Karpenter and Kubernetes that it agrees with.
func Versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	required := map[string]string{}
	for _, module := range info.Deps {
		required[module.Path] = module.Version
	}
	commit := cmp.Or(release.Setting(info, "vcs.revision"), "unknown") // the version of a release says it
	if release.Setting(info, "vcs.modified") == "true" {
		commit += ", and changes that are not committed"
	}
	kubernetes := required["k8s.io/api"] // v0.36.4 is of Kubernetes v1.36.4
	if minor, ok := strings.CutPrefix(kubernetes, "v0."); ok {
		kubernetes = "v1." + minor
	}
	return fmt.Sprintf("lkeplan    %s (%s, %s/%s)\ncommit     %s\nKarpenter  %s\nKubernetes %s\n",
		Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, commit,
		cmp.Or(required["sigs.k8s.io/karpenter"], "unknown"), cmp.Or(kubernetes, "unknown"))
}

// Version is that of package release.
func Version() string { return release.Version() }

// CommandLine is the command that was given, or another one with those of its flags
// that are named; nil stands for all of them.
func CommandLine(cmd *cobra.Command, name string, flags, args []string) []string {
	words := []string{"lkeplan", name}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if flags != nil && !slices.Contains(flags, f.Name) || f.Name == "force-conflicts" {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			words = append(words, "--"+f.Name+"="+value)
		}
	})
	return append(words, args...)
}

// Shared are the flags that say what is compiled, and where the cluster is.
func Shared() []string {
	return []string{"var", "var-file", "catalog", "kubeconfig", "context", "cluster", "guards"}
}
