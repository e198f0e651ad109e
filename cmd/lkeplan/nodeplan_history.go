package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

func newNodePlanHistory(env *flags.Env) *cobra.Command {
	var (
		from nodePlanFlags
		out  textOrJSON
	)
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the last revisions, and who approved them",
		Long: `List the last revisions that a NodePlan has applied or refused, newest first,
with who approved what guards refused, and why.`,
		Example: "  lkeplan nodeplan history prod",
		Args:    oneNodePlan,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, np, err := from.get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			entries := append([]lkeplanv1alpha1.HistoryEntry{}, np.Status.History...)
			return out.print(env.Stdout, entries, func(w io.Writer) error { return writeHistory(w, entries) })
		},
	}
	from.flags(cmd, env)
	out.add(cmd, "print the result as `FORMAT`")
	return cmd
}

func writeHistory(w io.Writer, entries []lkeplanv1alpha1.HistoryEntry) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "TIME\tREVISION\tRESULT\tAPPROVED BY\tFOR")
	for _, h := range entries {
		by, lifted := "-", "-"
		if a := h.Approval; a != nil {
			by, lifted = diag.OneLine(a.By), strings.Join(a.Guards, ", ")
			if a.Reason != "" {
				lifted += ": " + a.Reason
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", moment(&h.Time), nodeplan.Short(h.Revision), h.Status, by,
			diag.OneLine(lifted))
	}
	return t.Flush()
}
