package flags

import (
	"cmp"
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
	"github.com/lkeplan/lkeplan/engine/diff"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Env is the process that commands run in.
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

// An Outcome is an exit code for a result that is not an error.
type Outcome int

// The outcomes. An error exits with 1 instead.
const (
	Fine    Outcome = 0
	Changes Outcome = 2 // there are changes, and --detailed-exitcode is set
	Refused Outcome = 3 // by a guard, a policy, a field of another owner, or pods without a node in a simulation
	Stale   Outcome = 4 // the cluster has changed since a plan was saved
)

// Error implements error.
func (o Outcome) Error() string { return fmt.Sprintf("exit code %d", int(o)) }

// AsError is nil for Fine.
func (o Outcome) AsError() error {
	if o == Fine {
		return nil
	}
	return o
}

// ErrReported is returned by commands that have printed their error.
var ErrReported = diff.ErrReported

// Report prints diagnostics. It returns ErrReported if one of them is an error.
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

// Linode returns a client of the Linode API at LINODE_URL, with the token in LINODE_TOKEN. If there
// is no token, the error names the rights that it needs.
func Linode(env *Env, may string) (*api.Client, error) {
	token := env.Getenv("LINODE_TOKEN")
	if token == "" {
		return nil, fmt.Errorf("no Linode API token; set LINODE_TOKEN to a token that can %s", may)
	}
	return api.New(env.Getenv("LINODE_URL"), token, api.Options{})
}

// Regions completes the name of a region from the built-in catalogue.
func Regions(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	if known, err := catalog.Embedded(); err == nil {
		for _, region := range known.Regions() {
			names = append(names, cobra.CompletionWithDesc(region.ID, region.Label))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Versions lists what the program was built from: its version and commit, and
// the versions of Karpenter and Kubernetes.
func Versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	required := map[string]string{}
	for _, module := range info.Deps {
		required[module.Path] = module.Version
	}
	commit := cmp.Or(compile.BuildSetting(info, "vcs.revision"), "unknown") // a release is known by its version
	if compile.BuildSetting(info, "vcs.modified") == "true" {
		commit += " with uncommitted changes"
	}
	kubernetes := required["k8s.io/api"] // v0.36.4 belongs to Kubernetes v1.36.4
	if minor, ok := strings.CutPrefix(kubernetes, "v0."); ok {
		kubernetes = "v1." + minor
	}
	return fmt.Sprintf("lkeplan    %s (%s, %s/%s)\ncommit     %s\nKarpenter  %s\nKubernetes %s\n",
		Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, commit,
		cmp.Or(required["sigs.k8s.io/karpenter"], "unknown"), cmp.Or(kubernetes, "unknown"))
}

// Version returns the version of the program.
func Version() string { return compile.Version() }

// CommandLine returns the command line of a command with the arguments and some flags of the
// command that runs; nil means all its flags.
func CommandLine(cmd *cobra.Command, name string, flags, args []string) []string {
	words := []string{"lkeplan", name}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if flags != nil && !slices.Contains(flags, f.Name) || f.Name == "force-conflicts" || f.Hidden || !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			words = append(words, strings.TrimSuffix("--"+f.Name+"="+value, "="+cmp.Or(f.NoOptDefVal, "=")))
		}
	})
	return append(words, args...)
}

// Shared returns the flags that choose what is compiled, and the cluster.
func Shared() []string {
	return []string{"var", "var-file", "catalog", "kubeconfig", "context", "cluster", "guards"}
}
