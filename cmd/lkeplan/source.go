package main

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/workspace"
	"github.com/lkeplan/lkeplan/kube"
)

// A source is the directory a command reads and the values for its variables.
type source struct{ workspace.Options }

// flags adds the flags for variables, which are the same in each command.
func (s *source) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.Vars, "var", nil, "set a variable: `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&s.VarFiles, "var-file", nil, "read variables from `FILE`; may be repeated")
	cmd.Flags().StringVar(&s.Catalog, "catalog", "",
		"check against the Linode types and regions in `FILE`, which \"lkeplan catalog refresh\" writes, and not "+
			"the built-in ones")
}

// oneDirectory is the positional argument of commands that read a directory.
func oneDirectory(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one directory, not %d arguments", cmd.Name(), len(args))
	}
	return nil
}

// open returns the file system and options for compiling the directory given
// as the only argument, or else the working directory.
func (s *source) open(args []string) (fs.FS, compile.Options, error) {
	dir := "."
	if len(args) > 0 {
		dir = args[0]
	}
	return s.Open(dir, release())
}

// release is the version for required_version: programs built from a checkout
// satisfy all constraints. There the version is of the commit, v0.0.0-TIME-COMMIT.
func release() string {
	v := version()
	if strings.HasPrefix(v, "devel") || module.IsPseudoVersion(v) || strings.HasSuffix(v, "+dirty") {
		return ""
	}
	return v
}

// clusterFlags adds the flags that say which cluster a command talks to.
func clusterFlags(cmd *cobra.Command, env *env, access *kube.Access) {
	cmd.Flags().StringVar(&access.Kubeconfig, "kubeconfig", env.Getenv("KUBECONFIG"),
		"kubeconfig `FILE` of the cluster ($KUBECONFIG, else ~/.kube/config)")
	cmd.Flags().StringVar(&access.Context, "context", "", "`CONTEXT` of the kubeconfig (default: its current one)")
}
