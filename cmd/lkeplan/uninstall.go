package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/migrate"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/crd"
)

const uninstallHelp = `Leave lkeplan. With the controller gone, nodes that it has made stay and cost
money, and nothing that it protects can be deleted. So first, one of:

--drain   The running controller drains all nodes of pools and deletes them;
          their pods go where there is room. NodePlans, pools and classes are
          deleted.
--leave   All nodes stay, as do pools and the other objects, with nothing on
          them that only lkeplan would take off. Stop the controller first.
          What goes on to cost is listed. If the controller is started again,
          it goes on.

After that the controller and the CRDs can be deleted in any order.`

func newUninstall(env *flags.Env) *cobra.Command {
	u := uninstalling{env: env}
	cmd := &cobra.Command{
		Use: "uninstall --drain | --leave", Short: "Give up all nodes, or keep them without lkeplan", Long: uninstallHelp,
		Example: "  lkeplan uninstall --drain\n  lkeplan uninstall --leave --yes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.drain == u.leave {
				return errors.New("say what becomes of the nodes: --drain or --leave")
			}
			if !u.yes && flags.Terminal(env.Stdin) == nil {
				return errors.New("uninstall changes a cluster, and there is no terminal to ask on; add --yes")
			}
			u.flags = cmd.Flags()
			return u.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&u.drain, "drain", false, "drain and delete all nodes of pools")
	cmd.Flags().BoolVar(&u.leave, "leave", false, "keep all nodes")
	cmd.Flags().BoolVarP(&u.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&u.unled, "without-lease", false,
		"with --drain: a controller runs that elects no leader,\nsuch as one outside of the cluster; with --leave: none runs")
	cmd.Flags().DurationVar(&u.timeout, "timeout", time.Hour, "stop waiting after `TIME`; the controller continues")
	flags.ClusterFlags(cmd, env, &u.access)
	flags.Effects{"timeout": {
		When: func([]string) bool { return !u.leave || u.drain }, Else: "is for --drain: with --leave nothing is waited for",
	}}.RejectUnused(cmd)
	return cmd
}

type uninstalling struct {
	env                      *flags.Env
	access                   kube.Access
	drain, leave, yes, unled bool
	timeout                  time.Duration
	flags                    *pflag.FlagSet // as they were given
}

func (u *uninstalling) run(ctx context.Context) error {
	in, err := kube.Connect(u.access)
	if err != nil {
		return err
	}
	running, err := cluster.Controllers(ctx, in, time.Now())
	if err != nil {
		return err
	}
	if err := u.may(ctx, in, running); err != nil {
		return err
	}
	held, err := migrate.ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	prices, err := revision.Options{}.Prices()
	if err != nil {
		return err
	}
	machines, total := migrate.Bill(held, prices)
	fmt.Fprintf(u.env.Stdout, "%s: %s, %s, %s for %s%s a month\n", in.Place(),
		diag.Counted(len(held.Pools), "pool"), diag.Counted(len(held.NodePlans), "NodePlan"),
		diag.Counted(len(machines), "node"), atLeast(machines), total.Text())
	if !u.yes {
		question := "Drain and delete all nodes of these pools, and the pools?"
		if u.leave {
			question = "Keep all nodes, without lkeplan?"
		}
		if err := confirm(ctx, u.env, question, "nothing was changed"); err != nil {
			return err
		}
	}
	if u.leave {
		return u.keep(ctx, in, machines, total)
	}
	return u.empty(ctx, in)
}

// may tells what is to be done about the controller first.
func (u *uninstalling) may(ctx context.Context, in *kube.Cluster, running []cluster.Controller) error {
	if u.leave {
		err := migrate.Stopped(ctx, in, running)
		if !errors.Is(err, migrate.ErrNoLease) {
			return err
		}
		if u.unled {
			return nil
		}
		return fmt.Errorf("%w, so one may run outside of the cluster, and would put back what is taken off. "+
			"If none runs: --without-lease", err)
	}
	if u.unled || slices.ContainsFunc(running, func(c cluster.Controller) bool { return c.MakesNodes() && c.Works() }) {
		return nil
	}
	var known []string
	for _, c := range running {
		known = append(known, c.String())
	}
	return fmt.Errorf("no controller works that could drain nodes (%s); start it, or use --leave. With one that elects "+
		"no leader: --without-lease", strings.Join(append(known, "no other has a Lease"), ", "))
}

// empty has all nodes drained and deleted.
func (u *uninstalling) empty(ctx context.Context, in *kube.Cluster) error {
	waiting, cancel := context.WithTimeoutCause(ctx, u.timeout, fmt.Errorf("timed out after %s", u.timeout))
	defer cancel()
	err := migrate.UninstallByDrain(waiting, in, u.show)
	unfinished := errors.Is(err, migrate.ErrUnfinished)
	if err != nil && !unfinished && errors.Is(waiting.Err(), context.DeadlineExceeded) {
		err, unfinished = errors.Join(migrate.ErrUnfinished, context.Cause(waiting)), true // in the midst of a request
	}
	if unfinished {
		fmt.Fprintf(u.env.Stderr, "lkeplan: %s\nWhat holds them: kubectl get events -A | grep -e DisruptionBlocked "+
			"-e FailedDraining\nTo wait again: %s\n", diag.Visible(err.Error()), uninstallAgain(u.flags))
		return flags.ErrReported
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(u.env.Stdout, "No node of lkeplan is left, and nothing costs. Delete the controller (helm uninstall), "+
		"and then the CRDs:\n%s", crdDeletion())
	return nil
}

// uninstallAgain is the command that goes on waiting, with the flags that were given.
func uninstallAgain(given *pflag.FlagSet) string {
	words := []string{"lkeplan", "uninstall", "--drain"}
	given.Visit(func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case f.Name == "drain":
		case f.Value.Type() == "bool" && value == "true":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name+"="+value)
		}
	})
	return reports.ShellLine(words...)
}

// keep takes off what only lkeplan takes off, and says what goes on to cost.
func (u *uninstalling) keep(ctx context.Context, in *kube.Cluster, machines []migrate.Machine,
	total catalog.Money) error {
	if err := migrate.UninstallAndKeep(ctx, in, u.show); err != nil {
		return err
	}
	if err := writeBill(u.env.Stdout, machines, total); err != nil {
		return err
	}
	fmt.Fprintf(u.env.Stdout, `
These nodes stay until somebody deletes their LKE pools, in Cloud Manager or by the
Linode API. The LKE pools have tags of lkeplan: a controller that is installed again,
without the NodeClaims, would take their nodes for left over.

The controller can be deleted (helm uninstall) and, with all pools, the CRDs:
%s`, crdDeletion())
	return nil
}

// atLeast goes before the sum of what machines cost, if the price of one is not known.
func atLeast(machines []migrate.Machine) string {
	for _, m := range machines {
		if m.Monthly == 0 {
			return "at least "
		}
	}
	return ""
}

func writeBill(out io.Writer, machines []migrate.Machine, total catalog.Money) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nNODE\tLINODE\tLKE POOL\tPLAN TYPE\tPOOL\tA MONTH")
	for _, m := range machines {
		row := []string{m.Node, m.Linode, m.LKEPool, m.PlanType, m.Pool, m.Monthly.Text()}
		if m.Node == "" {
			row[0] = "NodeClaim " + m.Claim
		}
		for i := range row {
			if row[i] = diag.OneLine(row[i]); row[i] == "" || row[i] == "$0" {
				row[i] = "?"
			}
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	fmt.Fprintf(w, "together\t\t\t\t\t%s\n", atLeast(machines)+total.Text())
	return w.Flush()
}

// crdDeletion is how to delete the CRDs: by name, as files may be of another release.
func crdDeletion() string {
	crds, err := crd.All()
	if err != nil {
		return "" // a test reads them
	}
	var b strings.Builder
	b.WriteString("  kubectl delete crd")
	for _, definition := range crds {
		b.WriteString(" \\\n    " + definition.Name)
	}
	return b.String() + "\n"
}

func (u *uninstalling) show(s migrate.Step) {
	fmt.Fprintf(u.env.Stdout, "%-15s %-24s %s\n", s.Kind, diag.OneLine(s.Name), s.What)
}
