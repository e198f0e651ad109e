package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lkeplan/lkeplan/engine"
	"github.com/lkeplan/lkeplan/kube"
)

func newApply(env *env) *cobra.Command {
	var (
		src        source
		kubeconfig string
		wait       bool
		timeout    time.Duration
	)
	cmd := &cobra.Command{
		Use:   "apply [DIR]",
		Short: "Apply a directory to a cluster and wait until it is ready",
		Long: `Compile and check a directory, then apply its objects by server-side apply as
the field manager "lkeplan": node classes first, then pools. Values that somebody
else has set are never overwritten; they are shown, and nothing more is applied.

Objects that are not in the directory stay as they are.`,
		Example: "  lkeplan apply clusters/dev\n  lkeplan apply --wait=false clusters/dev",
		Args:    oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			fsys, opts, err := src.open(args)
			if err != nil {
				return err
			}
			compiled, diags := engine.Compile(cmd.Context(), fsys, opts)
			if err := report(env, compiled, diags); err != nil {
				return err
			}
			cluster, err := connect(kubeconfig)
			if err != nil {
				return err
			}
			a := application{env: env, cluster: cluster, started: time.Now(), counts: map[kube.Outcome]int{}}
			if !wait {
				timeout = 0
			}
			return a.run(cmd.Context(), compiled.Manifests(), timeout)
		},
	}
	src.flags(cmd)
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", env.Getenv("KUBECONFIG"), "kubeconfig `FILE` of the cluster ($KUBECONFIG, else ~/.kube/config)")
	cmd.Flags().BoolVar(&wait, "wait", true, "wait until all objects are ready")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "how long to wait for that")
	return cmd
}

// connect returns the cluster of a kubeconfig, which may be several files as
// in $KUBECONFIG; of the usual places where it is empty.
func connect(kubeconfig string) (*kube.Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if kubeconfig != "" {
		rules.Precedence = filepath.SplitList(kubeconfig)
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		return nil, fmt.Errorf("no cluster: there is no kubeconfig in %s; set KUBECONFIG", strings.Join(rules.Precedence, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return kube.NewCluster(cfg)
}

// application is one run of apply.
type application struct {
	env     *env
	cluster *kube.Cluster
	started time.Time
	counts  map[kube.Outcome]int
}

// run applies the objects and, where timeout is not 0, waits for them.
func (a *application) run(ctx context.Context, objects []map[string]any, timeout time.Duration) error {
	if len(objects) == 0 {
		return errors.New("the directory has no node_class and no pool; there is nothing to apply")
	}
	if err := engine.Apply(ctx, a.cluster, objects, a.show); err != nil {
		return err
	}
	if timeout > 0 {
		waiting, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		if err := engine.WaitReady(waiting, a.cluster, objects, a.show); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.env.Stdout, "applied %s: %d created, %d changed, %d unchanged (%s)\n", objectCount(len(objects)),
		a.counts[kube.Created], a.counts[kube.Changed], a.counts[kube.Unchanged], time.Since(a.started).Round(100*time.Millisecond))
	return nil
}

func (a *application) show(p engine.Progress) {
	what := string(p.Outcome)
	if p.Ready {
		what = "ready"
	} else {
		a.counts[p.Outcome]++
	}
	fmt.Fprintf(a.env.Stdout, "%-15s %-24s %s\n", p.Kind, p.Name, what)
}

func objectCount(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
