package flags

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/release"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
)

// A Source is the directory a command reads and the values for its variables.
type Source struct{ revision.Options }

// Flags adds the flags for variables, which are the same in each command.
func (s *Source) Flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.Vars, "var", nil, "set a variable: `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&s.VarFiles, "var-file", nil, "read variables from `FILE`; may be repeated")
	cmd.Flags().StringVar(&s.Catalog, "catalog", "",
		"check against the Linode types and regions in `FILE`, and not those of lkeplan.catalog or the built-in ones")
}

// OneDirectory is the positional argument of commands that read a directory.
func OneDirectory(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one directory, not %d arguments", cmd.Name(), len(args))
	}
	return nil
}

// Directory returns the file system and options for compiling the directory given
// as the only argument, or else the working directory.
func (s *Source) Directory(ctx context.Context, args []string) (fs.FS, compile.Options, error) {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	return s.Open(ctx, dir, Release())
}

// Release is that of this program, for required_version.
func Release() string { return release.Of(release.Version()) }

// ClusterFlags adds the flags that say which cluster a command talks to.
func ClusterFlags(cmd *cobra.Command, env *Env, access *kube.Access) {
	cmd.Flags().StringVar(&access.Kubeconfig, "kubeconfig", env.Getenv("KUBECONFIG"),
		"kubeconfig `FILE` of the cluster ($KUBECONFIG, else ~/.kube/config)")
	cmd.Flags().StringVar(&access.Context, "context", "", "`CONTEXT` of the kubeconfig (default: its current one)")
	cmd.Flags().Var((*patience)(&access.Patience), "request-timeout", "wait for at most `TIME` for each answer of the API server; 0 "+
		"waits without end (default: 30s to read, 70s to write)")
	access.Say = func(what string) {
		var p diag.Page
		p.Line(0, "lkeplan: %s", what)
		_, _ = io.WriteString(env.Stderr, p.String())
	}
}

// patience is the flag for how long the API server is waited for. It implements pflag.Value.
type patience kube.Patience

// String implements pflag.Value.
func (p *patience) String() string {
	switch {
	case p.Forever:
		return "0"
	case p.Timeout == 0:
		return ""
	}
	return p.Timeout.String()
}

// Set implements pflag.Value.
func (p *patience) Set(text string) error {
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout < 0 {
		return fmt.Errorf("write a time such as 30s or 2m, or 0, and not %q", text)
	}
	p.Timeout, p.Forever = timeout, timeout == 0
	return nil
}

// Type implements pflag.Value.
func (*patience) Type() string { return "TIME" }
