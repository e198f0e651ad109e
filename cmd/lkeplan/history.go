package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/forecast"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/report"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

const historyHelp = `Compare the forecast of each applied commit with what happened. The forecast is
in the plan of the commit. It has the number of nodes that will be replaced, and
the monthly cost of the pools. Commits that change no object are not listed.

  REPLACED  how many nodes were replaced, and how many the plan forecast
  FORECAST  the expected range of the monthly cost
  MEAN      the average monthly cost since the commit was applied
  MEASURED  the time for which the cost is known. While the controller does not
            run, the cost is unknown

If a line starts with !, the commit differs from its forecast. The lines below
the table explain the difference.

A NodePlan is the object that applies commits in a cluster. Without NAME, history
shows all NodePlans of the namespace. You need permission to read them. history also works if the controller is
down.`

// historySettings are the flags of the command.
type historySettings struct {
	from   nodePlanFlags
	output flags.Choice
	pools  bool
}

func newHistory(env *flags.Env) *cobra.Command {
	s := historySettings{output: flags.Choice{Value: "text", Of: []string{"text", "json", "markdown"}}}
	cmd := &cobra.Command{
		Use:     "history [NAME]",
		Short:   "Compare forecasts of plans with what happened",
		Long:    historyHelp,
		Example: "  lkeplan history\n  lkeplan history prod --pools\n  lkeplan history prod -o json",
		Args:    flags.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				_, np, err := s.from.get(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return s.print(env, []lkeplanv1alpha1.NodePlan{*np}, time.Now())
			}
			plans, err := s.from.list(cmd.Context())
			if err != nil {
				return err
			}
			return s.print(env, plans, time.Now())
		},
	}
	s.from.flags(cmd, env)
	cmd.Flags().BoolVarP(&s.from.all, "all-namespaces", "A", false, "list the NodePlans of all namespaces")
	cmd.Flags().BoolVar(&s.pools, "pools", false, "show each pool, too")
	s.output.Flag(cmd, "output", "o", "print the result as `FORMAT`")
	flags.Effects{
		"pools": {When: func([]string) bool { return s.output.Value != "json" },
			Else: "is for text and markdown: JSON always has pools"},
	}.RejectUnused(cmd)
	return cmd
}

// comparedRevision is a revision in the JSON output.
type comparedRevision struct {
	NodePlan string `json:"nodePlan"` // namespace/name
	lkeplanv1alpha1.RevisionForecast
	Findings []forecast.Finding `json:"findings"`
}

func (s historySettings) print(env *flags.Env, plans []lkeplanv1alpha1.NodePlan, now time.Time) error {
	all := []comparedRevision{}
	for i := range plans {
		for _, e := range forecast.Bounded(plans[i].Status.Forecasts) {
			e.Counted, e.RemovedUntil = nil, nil
			found := append([]forecast.Finding{}, forecast.Findings(e, plans[i].Status.Drift)...)
			all = append(all, comparedRevision{nodeplan.Key(&plans[i]).String(), e, found})
		}
	}
	return printAs(env, s.output.Value, all, s.markdown(plans, now), func(p *diag.Page) {
		if len(plans) == 0 {
			flags.Say(env.Stderr, "No NodePlans in %s.", placeOf(s.from))
		}
		s.text(p, plans, now)
	})
}

// historyTitles are the columns. The first has the mark of a revision outside of its forecast.
var historyTitles = []string{" ", "COMMIT", "APPLIED", "REPLACED", "FORECAST", "MEAN", "MEASURED"}

func (s historySettings) text(p *diag.Page, plans []lkeplanv1alpha1.NodePlan, now time.Time) {
	for i := range plans {
		if i > 0 {
			p.Break()
		}
		np := &plans[i]
		p.Line(0, "NodePlan %s", nodeplan.Key(np))
		if len(np.Status.Forecasts) == 0 {
			p.Line(2, "no forecast yet: no revision that changes an object was applied by this release")
			continue
		}
		rows := [][]string{historyTitles}
		for _, e := range forecast.Bounded(np.Status.Forecasts) {
			rows = append(rows, s.rows(np, e, now)...)
		}
		p.Table(rows)
		for _, e := range forecast.Bounded(np.Status.Forecasts) {
			for _, line := range notes(np, e) {
				p.Paragraph(2, "%s", line)
			}
		}
	}
}

// rows are the lines of one revision.
func (s historySettings) rows(np *lkeplanv1alpha1.NodePlan, e lkeplanv1alpha1.RevisionForecast,
	now time.Time) [][]string {
	found := forecast.Findings(e, np.Status.Drift)
	rows := [][]string{{mark(found), forecast.CommitText(e), e.Applied.UTC().Format("2006-01-02 15:04"),
		forecast.ReplacedText(e.Total),
		forecast.RangeText(e.Total.Forecast), forecast.CostText(e.Total.Actual.CostMean), forecast.MeasuredText(e, now)}}
	if !s.pools {
		return rows
	}
	for _, row := range e.Pools {
		rows = append(rows, []string{" ", "", "  " + diag.Name(row.Name), forecast.ReplacedText(row),
			forecast.RangeText(row.Forecast),
			forecast.CostText(row.Actual.CostMean), forecast.Span(row.Actual.Seconds)})
	}
	if e.PoolsLeftOut > 0 {
		rows = append(rows, []string{" ", "", "  not shown: " + diag.Counted(e.PoolsLeftOut, "pool")})
	}
	return rows
}

// mark is "!" if a revision is outside of its forecast.
func mark(found []forecast.Finding) string {
	if forecast.Outside(found) {
		return "!"
	}
	return " "
}

// notes explain the differences of one revision, with a sentence each.
func notes(np *lkeplanv1alpha1.NodePlan, e lkeplanv1alpha1.RevisionForecast) (lines []string) {
	switch {
	case e.RolledBack:
		lines = append(lines, fmt.Sprintf("commit %s: its first wave failed, and it was rolled back.",
			forecast.CommitText(e)))
	case e.Rollback:
		lines = append(lines, fmt.Sprintf("commit %s: it was applied again because the next revision failed.",
			forecast.CommitText(e)))
	}
	for _, f := range forecast.Findings(e, np.Status.Drift) {
		of := ""
		if f.Pool != "" {
			of = ", pool " + diag.Name(f.Pool)
		}
		lines = append(lines, fmt.Sprintf("commit %s%s: %s", forecast.CommitText(e), of, f.Text))
	}
	return lines
}

// markdown is a table for each NodePlan.
func (s historySettings) markdown(plans []lkeplanv1alpha1.NodePlan, now time.Time) string {
	var b strings.Builder
	for i := range plans {
		np := &plans[i]
		fmt.Fprintf(&b, "### NodePlan %s\n\n", report.HTMLEntities(nodeplan.Key(np).String()))
		rows := [][]string{historyTitles}
		for _, e := range forecast.Bounded(np.Status.Forecasts) {
			rows = append(rows, s.rows(np, e, now)...)
		}
		markdownTable(&b, rows)
		b.WriteByte('\n')
		for _, e := range forecast.Bounded(np.Status.Forecasts) {
			for _, note := range notes(np, e) {
				b.WriteString("* " + report.HTMLEntities(note) + "\n")
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String()) + "\n"
}
