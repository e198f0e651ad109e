package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/lke"
)

const adoptHelp = `Replace LKE pools (node pools of LKE) that Karpenter does not manage: move their
pods to nodes of Karpenter, and delete the LKE pools. adopt does the steps that
"lkeplan import --lke" prints. Apply your pools first.

adopt turns off the autoscalers of the LKE pools. Then it processes one LKE pool
after the other. It cordons the nodes of the pool, and evicts the pods of one node
after the other, within their PodDisruptionBudgets. It waits until the pods are
ready on other nodes before it evicts those of the next node. Finally it deletes
the LKE pool. Data in emptyDir volumes is lost.

If a pod cannot be evicted, or fits on no other node, adopt names the pod and
stops. The LKE pool stays. To continue, run the same command again.

adopt waits for pods with the annotation karpenter.sh/do-not-disrupt: "true" or
cluster-autoscaler.kubernetes.io/safe-to-evict: "false".

You need a token in LINODE_TOKEN with the scope lke:read_write, and a running
controller. By default, the controller does not run on nodes of Karpenter: keep an
LKE pool for it, and name the other LKE pools instead of using --all. Before you
start, remove these LKE pools from Terraform, or from any other tool that manages
them.`

func newAdopt(env *flags.Env) *cobra.Command {
	a := adoption{env: env}
	cmd := &cobra.Command{
		Use: "adopt LKE-POOL... | --all", Short: "Replace LKE node pools with pools of lkeplan",
		Long:    adoptHelp,
		Example: "  lkeplan adopt --cluster prod 101 102\n  lkeplan adopt --cluster prod --all --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.timeout <= 0 {
				return errors.New("--timeout is more than 0")
			}
			if !a.yes && flags.Terminal(env.Stdin) == nil {
				return errors.New("adopt asks for confirmation, and there is no terminal; add --yes")
			}
			return a.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&a.name, "cluster", "", "`NAME` of the cluster (default: the only LKE cluster of the account)")
	cmd.Flags().BoolVar(&a.all, "all", false, "adopt all LKE pools that Karpenter does not manage")
	cmd.Flags().BoolVar(&a.unmanaged, "unmanaged-pods", false, "also evict pods that no controller recreates")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 15*time.Minute,
		"stop waiting after `TIME`; the time starts again for each node")
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&a.unled, "without-lease", false,
		"do not check for the Lease of a running controller: for a controller without leader election")
	flags.ClusterFlags(cmd, env, &a.access)
	return cmd
}

type adoption struct {
	env                        *flags.Env
	access                     kube.Access
	name                       string
	all, unmanaged, yes, unled bool
	timeout                    time.Duration
}

func (a *adoption) run(ctx context.Context, ids []string) error {
	api, err := flags.Linode(a.env, "change LKE pools (lke:read_write)")
	if err != nil {
		return err
	}
	cluster, err := kube.Connect(a.access)
	if err != nil {
		return err
	}
	from, pools, err := a.pools(ctx, api, ids)
	if err != nil {
		return err
	}
	move := migrate.PoolDrain{
		Cluster: cluster, LKE: api, ClusterID: from.ID, Timeout: a.timeout, Unmanaged: a.unmanaged, Report: a.show,
	}
	if len(pools) == 0 {
		fmt.Fprintf(a.env.Stdout, "LKE cluster %s has only LKE pools that Karpenter manages: there is nothing to move.\n",
			diag.OneLine(from.Label))
		return nil
	}
	if err := requireRights(ctx, cluster, api); err != nil {
		return err
	}
	if err := errors.Join(a.requireController(ctx, cluster), move.Check(ctx, pools)); err != nil {
		return err
	}
	fmt.Fprintf(a.env.Stdout, "%s, LKE cluster %s:\n", cluster.Place(), diag.OneLine(from.Label))
	for _, p := range pools {
		fmt.Fprintf(a.env.Stdout, "  LKE pool %s\n", describeLKEPool(p))
	}
	const question = "Move the pods of these LKE pools, and delete the LKE pools?"
	if err := confirm(ctx, a.env, a.yes, question, "nothing was changed"); err != nil {
		return err
	}
	if err := move.Hold(ctx, pools); err != nil {
		return wayBack(from.ID, pools, "the same command", err)
	}
	for n, p := range pools {
		if err := move.Pool(ctx, p); err != nil {
			again := "the same command"
			if n > 0 && !a.all {
				again += " with " + lkePoolIDs(pools[n:])
			}
			return wayBack(from.ID, pools[n:], again, err)
		}
	}
	fmt.Fprintln(a.env.Stdout, "All pods have moved.")
	return nil
}

// pools are the LKE pools to drain, without those that Karpenter manages.
func (a *adoption) pools(ctx context.Context, linodeAPI *api.Client, ids []string) (migrate.LKECluster, []api.Pool,
	error) {
	from, err := lkeCluster(ctx, a.env, linodeAPI, a.name)
	if err != nil {
		return from, nil, err
	}
	var there []api.Pool
	for _, p := range from.Pools {
		if !lke.Keeps(p.Tags) {
			there = append(there, p.Pool)
		}
	}
	var known []string
	for _, p := range there {
		known = append(known, describeLKEPool(p))
	}
	switch {
	case len(there) == 0 && !a.all:
		return from, nil, fmt.Errorf("cluster %s has only LKE pools that Karpenter manages", from.Label)
	case len(ids) == 0 && !a.all:
		return from, nil, fmt.Errorf("name LKE pools, or use --all: %s", strings.Join(known, "; "))
	case len(ids) > 0 && a.all:
		return from, nil, errors.New("name LKE pools or use --all, not both")
	}
	var meant []api.Pool
	for n, id := range ids {
		if slices.Contains(ids[:n], id) {
			continue
		}
		at := slices.IndexFunc(there, func(p api.Pool) bool { return strconv.Itoa(p.ID) == id })
		if at < 0 {
			return from, nil, fmt.Errorf("cluster %s has no LKE pool %s, or Karpenter manages it; its other LKE pools are: %s",
				from.Label, id, strings.Join(known, "; "))
		}
		meant = append(meant, there[at])
	}
	if a.all {
		meant = there
	}
	return from, meant, nil
}

func lkePoolIDs(pools []api.Pool) string {
	ids := make([]string, len(pools))
	for n, p := range pools {
		ids[n] = strconv.Itoa(p.ID)
	}
	return strings.Join(ids, " ")
}

func describeLKEPool(p api.Pool) string { return fmt.Sprintf("%d, %d of %s", p.ID, p.Count, p.Type) }

// requireController returns an error if no controller runs that could create nodes for the pods.
func (a *adoption) requireController(ctx context.Context, in *kube.Cluster) error {
	if a.unled {
		return nil
	}
	running, err := cluster.Controllers(ctx, in, time.Now())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(running, func(c cluster.Controller) bool { return c.MakesNodes() && c.Works() }) {
		return nil
	}
	return errors.New("no controller is running to create nodes for the pods; start it. " +
		"If one runs without leader election, add --without-lease")
}

// requireRights checks all rights before anything is changed.
func requireRights(ctx context.Context, cluster *kube.Cluster, api *api.Client) error {
	errs := []error{requireScope(api)}
	for _, what := range []authorizationv1.ResourceAttributes{
		{Verb: "list", Resource: "nodes"}, {Verb: "patch", Resource: "nodes"}, {Verb: "list", Resource: "pods"},
		{Verb: "create", Resource: "pods", Subresource: "eviction"}, {Verb: "list", Group: "apps", Resource: "replicasets"},
		{Verb: "list", Group: "apps", Resource: "statefulsets"},
	} {
		may, err := cluster.MayI(ctx, what)
		switch {
		case err != nil:
			return err
		case !may:
			errs = append(errs, fmt.Errorf("the user of the kubeconfig cannot %s %s in all namespaces", what.Verb,
				strings.TrimSuffix(what.Resource+"/"+what.Subresource, "/")))
		}
	}
	return errors.Join(errs...)
}

// requireScope checks that the token can delete LKE pools, and not only list them.
func requireScope(linodeAPI *api.Client) error {
	if linodeAPI.MayUse(api.ScopePools) {
		return nil
	}
	return fmt.Errorf("the token in LINODE_TOKEN has the scopes %s, but deleting LKE pools requires %s",
		strings.Join(linodeAPI.Scopes(), " "), api.ScopePools)
}

// wayBack is the error if not all pods have moved, with how to continue and how to go back. The
// first of the remaining LKE pools has pods left.
func wayBack(cluster int, left []api.Pool, again string, err error) error {
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	back := fmt.Sprintf("\n  kubectl uncordon -l lke.linode.com/pool-id=%d", left[0].ID)
	for _, p := range left {
		scale := p.Autoscaler
		if !scale.Enabled && scale.Min >= scale.Max {
			continue
		}
		back += fmt.Sprintf("\n  linode-cli lke pool-update %d %d --autoscaler.enabled true --autoscaler.min %d "+
			"--autoscaler.max %d", cluster, p.ID, scale.Min, scale.Max)
		if !scale.Enabled { // an earlier run may have turned it off
			back += " # if it was on"
		}
	}
	return fmt.Errorf("LKE pool %d: %s\nThe remaining pods run where they did. To continue: %s. To go back:%s",
		left[0].ID, diag.Visible(err.Error()), again, back)
}

func (a *adoption) show(s migrate.Step) {
	fmt.Fprintf(a.env.Stdout, "%-9s %-24s %s\n", s.Kind, diag.OneLine(s.Name), diag.OneLine(s.What))
}
