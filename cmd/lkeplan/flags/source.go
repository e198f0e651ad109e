package flags

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// SourceFlags adds the flags for variables and the catalogue of the directory that a command reads.
func SourceFlags(cmd *cobra.Command, s *revision.Options) {
	cmd.Flags().StringArrayVar(&s.Vars, "var", nil, "set a variable: `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&s.VarFiles, "var-file", nil, "read variables from `FILE`; may be repeated")
	Catalog(cmd, &s.Catalog)
}

// Catalog adds the flag --catalog.
func Catalog(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "catalog", "",
		"read plan types, regions and prices from `FILE` (default: lkeplan.catalog, else the built-in catalogue)")
}

// Arguments checks the number of positional arguments. The error names them as the usage of the command does.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		names := strings.Fields(cmd.Use)[1:]
		usage := strings.Join(append([]string{cmd.CommandPath()}, names...), " ")
		switch n := len(args); {
		case n < least:
			return fmt.Errorf("%s needs %s. Usage: %s", cmd.CommandPath(), strings.Join(names[n:least], " and "), usage)
		case n > most && most == 0:
			return fmt.Errorf("%s takes no arguments, and got %q", cmd.Name(), args[0])
		case n > most:
			return fmt.Errorf("%s takes at most %s, and got %d. Usage: %s", cmd.CommandPath(), text.Count(most, "argument"), n, usage)
		}
		return nil
	}
}

// OneDirectory returns the positional argument of commands that read a directory.
func OneDirectory(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one directory, not %d arguments", cmd.Name(), len(args))
	}
	return nil
}

// Open returns the file system and the options to compile the directory that is the only argument, or else the working
// directory.
func Open(ctx context.Context, s revision.Options, args []string) (fs.FS, compile.Options, error) {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	return s.Open(ctx, dir)
}

// ClusterFlags adds the flags that choose the cluster that a command connects to.
func ClusterFlags(cmd *cobra.Command, env *Env, access *kube.Access) {
	KubeconfigFlags(cmd, env, access)
	cmd.Flags().StringVar(&access.Context, "context", "", "use `CONTEXT` of the kubeconfig (default: the current context)")
	_ = cmd.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return kube.Contexts(*access), cobra.ShellCompDirectiveNoFileComp
	}) // fails only for an unknown flag
}

// KubeconfigFlags adds the flags for the kubeconfig, without the one that chooses its context.
func KubeconfigFlags(cmd *cobra.Command, env *Env, access *kube.Access) {
	cmd.Flags().StringVar(&access.Kubeconfig, "kubeconfig", env.Getenv("KUBECONFIG"),
		"read the kubeconfig in `FILE` (default: $KUBECONFIG, else ~/.kube/config)")
	cmd.Flags().Lookup("kubeconfig").DefValue = "" // the text has the default
	cmd.Flags().Var((*requestTimeout)(&access.Timeouts), "request-timeout", "wait at most `TIME` for each answer of the API server; 0 "+
		"means no limit (default: 30s to read, 70s to write)")
	access.Say = func(what string) { Say(env.Stderr, "lkeplan: %s", what) }
}

// Say writes a sentence about the work of a command, as wide as the terminal.
func Say(stderr io.Writer, format string, args ...any) {
	var p diag.Page
	if terminal, ok := stderr.(*diag.Writer); ok {
		p.Width = terminal.Width
	}
	p.Paragraph(0, format, args...)
	_, _ = io.WriteString(stderr, p.String())
}

// OfCluster are the names of the flags of ClusterFlags.
const OfCluster = "kubeconfig context request-timeout"

// requestTimeout is the flag for how long to wait for the API server. It implements pflag.Value.
type requestTimeout kube.Timeouts

// String implements pflag.Value.
func (p *requestTimeout) String() string {
	switch {
	case p.Forever:
		return "0"
	case p.Timeout == 0:
		return ""
	}
	return p.Timeout.String()
}

// Set implements pflag.Value.
func (p *requestTimeout) Set(text string) error {
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout < 0 {
		return fmt.Errorf("write a time such as 30s or 2m, or 0, not %q", text)
	}
	p.Timeout, p.Forever = timeout, timeout == 0
	return nil
}

// Type implements pflag.Value.
func (*requestTimeout) Type() string { return "TIME" }
