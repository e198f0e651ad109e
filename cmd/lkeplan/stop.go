package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/stop"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const stopHelp = `Stop all voluntary disruption in a cluster for a time. No node is removed or
replaced any more, in any pool: not by consolidation, drift, maintenance, repair,
fewer replicas, or the rollout of a commit. A commit that may replace or remove
nodes waits. A commit that does neither is applied.

These continue:

  * nodes are created for pending pods
  * nodes that are draining already finish. With --drains hold, no more of their
    pods are evicted; the terminationGracePeriod of a node continues
  * nodes expire (expire_after), and can be deleted with kubectl

The stop is a DisruptionStop object. It ends after the time in --for, or by
"lkeplan resume". There can be several: disruption is stopped while
any is active. status, why node, an event and an alert show it.

You need the ClusterRole lkeplan-on-call.`

const resumeHelp = `End stops of disruption that "lkeplan stop" has started: the stop NAME, or all
stops. If there are several, resume lists them, and asks for confirmation. Nodes can
be replaced and removed again at once, within the disruption budgets.

You need the ClusterRole lkeplan-on-call.`

const longestStop = 168 * time.Hour

func newStop(env *flags.Env) *cobra.Command {
	var (
		access kube.Access
		out    textOrJSON
		s      lkeplanv1alpha1.DisruptionStop
	)
	drains := flags.Choice{Value: "finish", Of: []string{"finish", "hold"}}
	cmd := &cobra.Command{
		Use:   "stop --for TIME --reason TEXT",
		Short: "Stop disruption of nodes for a time",
		Long:  stopHelp,
		Example: "  lkeplan stop --for 2h --reason 'errors in web since 14:00'\n" +
			"  lkeplan stop --for 30m --reason 'bad image' --drains hold",
		Args: flags.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			lasts := s.Spec.For.Duration
			switch {
			case lasts <= 0 || lasts > longestStop:
				return fmt.Errorf("--for %s: write a time such as --for 2h, more than 0 and at most 168h", lasts)
			case strings.TrimSpace(s.Spec.Reason) == "":
				return errors.New("--reason is empty; write why disruption is stopped, for readers of the status")
			}
			if drains.Value == "hold" {
				s.Spec.Drains = lkeplanv1alpha1.DrainsHold
			}
			to, in, err := connectTyped(access)
			if err != nil {
				return err
			}
			if s.Spec.By, err = to.User(cmd.Context()); err != nil {
				return err
			}
			s.GenerateName = "stop-"
			if err := in.Create(cmd.Context(), &s, client.FieldOwner(kube.FieldManager)); err != nil {
				return to.Explain(err)
			}
			return out.print(env, s, func(p *diag.Page) { describeStop(p, &s) })
		},
	}
	flags.ClusterFlags(cmd, env, &access)
	out.add(cmd)
	cmd.Flags().DurationVar(&s.Spec.For.Duration, "for", 0, "end the stop after `TIME`, such as 2h; at most 168h (required)")
	cmd.Flags().StringVar(&s.Spec.Reason, "reason", "", "show `TEXT` in status as the reason (required)")
	drains.Flag(cmd, "drains", "", "let nodes that are draining already do `THIS`")
	return cmd
}

// describeStop describes what a new stop does.
func describeStop(p *diag.Page, s *lkeplanv1alpha1.DisruptionStop) {
	p.Paragraph(0, "Disruption is %s.", stop.Describe(s))
	p.Paragraph(0, "No node is consolidated, replaced or repaired, and no commit that may replace or remove nodes is applied.")
	drains := "Nodes that are draining already finish."
	if s.Spec.Drains == lkeplanv1alpha1.DrainsHold {
		drains = "Nodes that are draining already keep their pods until then, or until their terminationGracePeriod ends."
	}
	p.Paragraph(0, "%s Nodes are still created for pending pods.", drains)
	p.Paragraph(0, "To end the stop earlier: lkeplan resume %s", s.Name)
}

// connectTyped connects to a cluster.
func connectTyped(access kube.Access) (*kube.Cluster, client.Client, error) {
	instancetype.Register()
	to, err := kube.Connect(access)
	if err != nil {
		return nil, nil, err
	}
	in, err := to.Client(scheme.Scheme)
	return to, in, err
}

func newResume(env *flags.Env) *cobra.Command {
	var (
		access kube.Access
		out    textOrJSON
		yes    bool
	)
	cmd := &cobra.Command{
		Use:     "resume [NAME]",
		Short:   "End stops of disruption",
		Long:    resumeHelp,
		Example: "  lkeplan resume\n  lkeplan resume stop-x7k2p",
		Args:    flags.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			to, in, err := connectTyped(access)
			if err != nil {
				return err
			}
			all := &lkeplanv1alpha1.DisruptionStopList{}
			if err := in.List(ctx, all); err != nil {
				return to.Explain(err)
			}
			ends, ended, others, err := stopsToEnd(all.Items, args, time.Now())
			if err != nil {
				return err
			}
			if out.Value == "text" && len(ends) > 1 {
				for _, s := range ends {
					fmt.Fprintf(env.Stdout, "%s: %s\n", s.Name, stop.Describe(s))
				}
			}
			if len(ends) > 1 && !yes {
				if flags.Terminal(env.Stdin) == nil {
					return errors.New("resume asks for confirmation, because there are several stops, and there is no terminal; name one, or add --yes")
				}
				if err := confirm(ctx, env, false, fmt.Sprintf("End these %d stops?", len(ends)), "no stop was ended"); err != nil {
					return err
				}
			}
			for _, s := range slices.Concat(ends, ended) {
				if err := in.Delete(ctx, s); client.IgnoreNotFound(err) != nil {
					return to.Explain(err)
				}
			}
			return out.print(env, ends, func(p *diag.Page) { describeResumed(p, ends, others) })
		},
	}
	flags.ClusterFlags(cmd, env, &access)
	out.add(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// stopsToEnd returns the active stops to end: the named one, or all. Others are the names of those that stay active.
// Without a name, it also returns the stops that have ended, whose objects are of no use.
func stopsToEnd(all []lkeplanv1alpha1.DisruptionStop, named []string, now time.Time) (
	ends, ended []*lkeplanv1alpha1.DisruptionStop, others []string, err error) {
	for i := range all {
		s := &all[i]
		switch active := stop.At([]*lkeplanv1alpha1.DisruptionStop{s}, now).Stopped(); {
		case active && (len(named) == 0 || named[0] == s.Name):
			ends = append(ends, s)
		case active:
			others = append(others, s.Name)
		case len(named) == 0:
			ended = append(ended, s)
		}
	}
	if len(named) > 0 && len(ends) == 0 {
		err = fmt.Errorf("no stop %s is active", named[0])
		if len(others) > 0 {
			err = fmt.Errorf("%w; the active stops are: %s", err, strings.Join(others, ", "))
		}
	}
	return ends, ended, others, err
}

// describeResumed describes what resume did. Others are the stops that stay active.
func describeResumed(p *diag.Page, ends []*lkeplanv1alpha1.DisruptionStop, others []string) {
	switch {
	case len(ends) == 0:
		p.Paragraph(0, "Disruption is not stopped.")
	case len(others) > 0:
		p.Paragraph(0, "The stop %s has ended. Disruption is still stopped by %s.", ends[0].Name, strings.Join(others, ", "))
	default:
		p.Paragraph(0, "Disruption is allowed again, within the budgets of the pools.")
	}
}

// stopPlan makes a plan that touches nodes wait while disruption is stopped.
func stopPlan(ctx context.Context, from *kube.Cluster, p *plan.Plan) error {
	s := stop.Read(ctx, cluster.Reader(from), time.Now())
	if !s.Stopped() || meta.IsNoMatchError(s.Err) || apierrors.IsNotFound(s.Err) { // a cluster without the kind has none
		return nil
	}
	return p.Stop(s.Until(), s.String()+". Wait until then, or end the stop: lkeplan resume")
}
