package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/engine/migrate"
	reports "github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

const uninstallHelp = `Prepare a cluster for the removal of lkeplan. If you delete the controller
without this command, the nodes that it created stay and are billed, and objects
with finalizers of lkeplan cannot be deleted. So before you delete the
controller, run one of these:

  --drain  lkeplan deletes all pools, and the running controller drains and
           deletes their nodes. Then lkeplan deletes all node classes and all
           NodePlans (objects that apply commits). It also deletes the
           CapacityLimits (limits over several pools), except those that
           another tool manages. Pods move to the remaining nodes. If a pod
           fits on no remaining node, it stays pending.
  --leave  Nodes, pools and all other objects stay. lkeplan removes the
           finalizers and taints that only its controller would remove. Stop the
           controller first. If you start it again, it manages the nodes again.

With either flag, the command first shows what is removed, what stays and what is
still billed, and asks for confirmation. Afterwards, you can delete the controller
and the CRDs in any order.`

func newUninstall(env *flags.Env) *cobra.Command {
	u := uninstalling{env: env}
	cmd := &cobra.Command{
		Use: "uninstall --drain | --leave", Short: "Prepare a cluster for the removal of lkeplan", Long: uninstallHelp,
		Example: "  lkeplan uninstall --drain\n  lkeplan uninstall --leave --yes",
		Args:    flags.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if u.drain == u.leave {
				return errors.New("usage: lkeplan uninstall --drain | --leave: drain the nodes, or keep them")
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
		"do not check for the Lease of a running controller: with --drain, for a controller without leader "+
			"election; with --leave, if no controller runs and the cluster has no Lease that shows this")
	cmd.Flags().DurationVar(&u.timeout, "timeout", time.Hour, "stop waiting after `TIME`; the controller continues")
	flags.ClusterFlags(cmd, env, &u.access)
	flags.Effects{"timeout": {
		When: func([]string) bool { return !u.leave || u.drain }, Else: "is for --drain: --leave does not wait",
	}}.RejectUnused(cmd)
	return cmd
}

type uninstalling struct {
	env                      *flags.Env
	access                   kube.Access
	drain, leave, yes, unled bool
	timeout                  time.Duration
	flags                    *pflag.FlagSet // as given
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
	found, err := u.survey(ctx, in, held, prices)
	if err != nil {
		return err
	}
	if err := u.print(func(p *diag.Page) { found.write(p, u.leave) }); err != nil {
		return err
	}
	question := "Drain and delete these nodes, and delete these objects?"
	if u.leave {
		question = "Keep these nodes and objects, and remove what only lkeplan would take off them?"
	}
	if err := confirm(ctx, u.env, u.yes, question, "nothing was changed"); err != nil {
		return err
	}
	if u.leave {
		return u.keep(ctx, in, found)
	}
	return u.empty(ctx, in, found)
}

// survey is what an uninstallation removes and leaves.
type survey struct {
	place     string
	held      migrate.Holdings
	machines  []migrate.Machine
	total     catalog.Money
	others    migrate.OtherNodes
	unlisted  string // why the other nodes are unknown; "" if they are known
	displaced inspect.Displaced
}

// survey reads what an uninstallation removes and leaves.
func (u *uninstalling) survey(ctx context.Context, in *kube.Cluster, held migrate.Holdings, prices *catalog.Catalog) (s survey, err error) {
	s = survey{place: in.Place(), held: held}
	s.machines, s.total = migrate.Bill(held, prices)
	known, err := cluster.Load(ctx, in, inspect.DisplacedKinds()...)
	if err != nil {
		return s, err
	}
	s.unlisted = known.Unread(cluster.KindNodes)
	s.others = migrate.NodesOfOthers(known.Nodes, held, prices)
	if !u.leave {
		s.displaced = inspect.Displace(ctx, known, inspect.Given{Catalog: prices, Now: time.Now()}, held.Nodes)
	}
	return s, nil
}

// write shows what is removed and what stays.
func (s survey) write(p *diag.Page, leave bool) {
	verb := "removes"
	if leave {
		verb = "keeps"
	}
	p.Paragraph(0, "%s: %s, %s, %s for %s%s a month", s.place, diag.Counted(len(s.held.Pools), "pool"),
		diag.Counted(len(s.held.NodePlans), "NodePlan"), diag.Counted(len(s.machines), "node"), atLeast(s.machines), s.total.Text())
	p.Break()
	p.Line(0, "lkeplan uninstall %s:", verb)
	for _, pool := range s.byPool() {
		p.Paragraph(2, "%s", pool)
	}
	for _, np := range s.held.NodePlans {
		p.Paragraph(2, "NodePlan %s/%s", np.Namespace, np.Name)
	}
	for _, class := range s.held.Classes {
		p.Paragraph(2, "LinodeNodeClass %s", class.Name)
	}
	for _, limit := range s.held.Limits {
		p.Paragraph(2, "CapacityLimit %s", limit.Name)
	}
	if leave {
		for _, limit := range s.held.LimitsOfOthers {
			p.Paragraph(2, "CapacityLimit %s, managed by %s", limit.Name, limit.Owner)
		}
		p.Break()
		s.billed(p, true)
		return
	}
	for _, limit := range s.held.LimitsOfOthers {
		p.Paragraph(0, "CapacityLimit %s stays: it is managed by %s, and limits the next installation.", limit.Name, limit.Owner)
	}
	p.Break()
	writeDisplaced(p, s.displaced)
	s.billed(p, false)
}

// byPool has a line for each pool, and one for nodes whose pool does not exist.
func (s survey) byPool() (lines []string) {
	of := map[string][]migrate.Machine{}
	for _, pool := range s.held.Pools {
		of[pool.Name] = nil
	}
	for _, m := range s.machines {
		of[m.Pool] = append(of[m.Pool], m)
	}
	for _, pool := range slices.Sorted(maps.Keys(of)) {
		name := "pool " + pool
		if !slices.ContainsFunc(s.held.Pools, func(p *karpv1.NodePool) bool { return p.Name == pool }) {
			name += ", which no longer exists"
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", name, diag.Counted(len(of[pool]), "node"), monthlyCost(of[pool])))
	}
	return lines
}

// monthlyCost is the monthly cost of machines, as far as it is known.
func monthlyCost(machines []migrate.Machine) string {
	var sum catalog.Money
	for _, m := range machines {
		sum += m.Monthly
	}
	if sum == 0 && len(machines) > 0 {
		return "at an unknown price"
	}
	return atLeast(machines) + sum.Text() + " a month"
}

// writeDisplaced shows what happens to pods.
func writeDisplaced(p *diag.Page, d inspect.Displaced) {
	groups := func(text string, groups []inspect.Group) {
		n := 0
		for _, g := range groups {
			n += g.Pods
		}
		if n > 0 {
			p.Paragraph(0, "%s that "+text, diag.Counted(n, "pod"))
		}
		for i, g := range groups {
			if i == mostOwners {
				p.Line(2, "not shown: %s", diag.Counted(len(groups)-i, "other owner"))
				break
			}
			p.Paragraph(2, "%s: %s", g.Owner, diag.Counted(g.Pods, "pod"))
		}
	}
	groups("will fit on no remaining node:", d.NoNode)
	groups("no controller recreates:", d.NotRecreated)
	for _, why := range d.Unknown {
		p.Paragraph(0, "Which pods will fit on no remaining node is unknown: %s.", why)
	}
	switch {
	case len(d.NoNode)+len(d.NotRecreated)+len(d.Unknown) > 0:
	case d.Pods == 0:
		p.Paragraph(0, "No pod has to move.")
	default:
		p.Paragraph(0, "The remaining nodes have capacity for the pods of these nodes (%d).", d.Pods)
	}
}

// mostOwners is how many owners of pods are listed.
const mostOwners = 20

// billed shows what is billed after lkeplan is removed. The nodes that it leaves come first.
func (s survey) billed(p *diag.Page, leave bool) {
	kept := ""
	if leave && len(s.machines) > 0 {
		kept = fmt.Sprintf("%s created by lkeplan, %s; ", diag.Counted(len(s.machines), "node"), monthlyCost(s.machines))
	}
	switch o := s.others; {
	case s.unlisted != "" && kept != "":
		p.Paragraph(0, "Still billed: %swhat else is still billed is unknown: %s.", kept, s.unlisted)
	case s.unlisted != "":
		p.Paragraph(0, "What is still billed is unknown: %s.", s.unlisted)
	case o.Nodes == 0:
		p.Paragraph(0, "Still billed: %sLKE pools without nodes, if there are any, and the control plane.", kept)
	default:
		cost := o.Monthly.Text() + " a month"
		switch {
		case o.Unpriced == o.Nodes:
			cost = "at an unknown price"
		case o.Unpriced > 0:
			cost = fmt.Sprintf("at least %s: the price of %s is unknown", cost, diag.Counted(o.Unpriced, "node"))
		}
		pools := ""
		if o.LKEPools > 0 {
			pools = " in " + diag.Counted(o.LKEPools, "LKE pool")
		}
		p.Paragraph(0, "Still billed: %s%s%s that lkeplan does not manage, %s; and the control plane.",
			kept, diag.Counted(o.Nodes, "node"), pools, cost)
	}
}

// may returns an error if the controller has to be started or stopped first.
func (u *uninstalling) may(ctx context.Context, in *kube.Cluster, running []cluster.Controller) error {
	if u.leave {
		err := migrate.Stopped(ctx, in, running)
		if !errors.Is(err, migrate.ErrNoLease) {
			return err
		}
		if u.unled {
			return nil
		}
		return fmt.Errorf("%w, so one may run outside of the cluster, and would undo the change. "+
			"If none runs, add --without-lease", err)
	}
	if u.unled || slices.ContainsFunc(running, func(c cluster.Controller) bool { return c.MakesNodes() && c.Works() }) {
		return nil
	}
	var known []string
	for _, c := range running {
		known = append(known, c.String())
	}
	return fmt.Errorf("no controller is running to drain nodes (%s); start it, or use --leave. If one runs without leader "+
		"election, add --without-lease", strings.Join(append(known, "no other has a Lease"), ", "))
}

// empty drains and deletes all nodes.
func (u *uninstalling) empty(ctx context.Context, in *kube.Cluster, found survey) error {
	waiting, cancel := context.WithTimeoutCause(ctx, u.timeout, fmt.Errorf("timed out after %s", u.timeout))
	defer cancel()
	err := migrate.UninstallByDrain(waiting, in, u.show)
	unfinished := errors.Is(err, migrate.ErrUnfinished)
	if err != nil && !unfinished && errors.Is(waiting.Err(), context.DeadlineExceeded) {
		err, unfinished = errors.Join(migrate.ErrUnfinished, context.Cause(waiting)), true // during a request
	}
	if unfinished {
		fmt.Fprintf(u.env.Stderr, "lkeplan: %s\nTo see what blocks them: kubectl get events -A | grep -e DisruptionBlocked "+
			"-e FailedDraining\nTo wait again: %s\n", diag.Visible(err.Error()), uninstallAgain(u.flags))
		return flags.ErrReported
	}
	if err != nil {
		return err
	}
	return u.print(func(p *diag.Page) {
		p.Break()
		p.Paragraph(0, "All nodes created by lkeplan are removed, and none is billed any more.")
		found.billed(p, false)
		p.Paragraph(0, "Now delete the controller (helm uninstall), and then the CRDs:")
		found.crdDeletion(p)
	})
}

// uninstallAgain is the command that continues to wait, with the flags that were given.
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

// keep takes off what only lkeplan would take off, and lists what is still billed.
func (u *uninstalling) keep(ctx context.Context, in *kube.Cluster, found survey) error {
	if err := migrate.UninstallAndKeep(ctx, in, u.show); err != nil {
		return err
	}
	if err := writeBill(u.env.Stdout, found.machines, found.total); err != nil {
		return err
	}
	return u.print(func(p *diag.Page) {
		p.Break()
		p.Paragraph(0, "These nodes stay, and are billed, until you delete their LKE pools in Cloud Manager or by the Linode API. "+
			"The LKE pools keep the tags of lkeplan: a controller that is installed again without the NodeClaims takes their nodes "+
			"for leftovers, and deletes them.")
		found.billed(p, true)
		p.Paragraph(0, "Now the controller can be deleted (helm uninstall) and, with all pools, the CRDs:")
		found.crdDeletion(p)
	})
}

// atLeast comes before the cost of machines if the price of one is unknown.
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
	fmt.Fprintln(w, "\nNODE\tLINODE\tLKE POOL\tPLAN TYPE\tPOOL\tMONTHLY COST")
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
	fmt.Fprintf(w, "total\t\t\t\t\t%s\n", atLeast(machines)+total.Text())
	return w.Flush()
}

// crdDeletion writes the command that deletes the CRDs: by name, because files may be of another release. It leaves out
// the CRD of CapacityLimits if other owners manage some.
func (s survey) crdDeletion(p *diag.Page) {
	keep := ""
	lines := []string{"kubectl delete crd"}
	for _, definition := range kube.CRDs() {
		if definition.Spec.Names.Kind == "CapacityLimit" && len(s.held.LimitsOfOthers) > 0 {
			keep = definition.Name
			continue
		}
		lines = append(lines, "  "+definition.Name)
	}
	for line := range strings.SplitSeq(strings.Join(lines, " \\\n"), "\n") {
		p.Line(2, "%s", line)
	}
	if keep != "" {
		p.Paragraph(0, "The command leaves out the CRD %s: deleting it deletes %s of other owners, too.", keep,
			diag.Counted(len(s.held.LimitsOfOthers), "CapacityLimit"))
	}
}

func (u *uninstalling) print(fill func(*diag.Page)) error {
	return printPage(u.env.Stdout, columns(u.env), fill)
}

func (u *uninstalling) show(s migrate.Step) {
	fmt.Fprintf(u.env.Stdout, "%-15s %-24s %s\n", s.Kind, diag.OneLine(s.Name), s.What)
}
