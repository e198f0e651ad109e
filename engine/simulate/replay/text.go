package replay

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// mostRows are shown of the moments.
const mostRows = 60

// Text tells a ledger for people. From says what was replayed: a directory, and whose pods.
func (l Ledger) Text(from string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, from %s to %s (%s)\n\n", from, stamp(l.From), stamp(l.Until), spell(l.Until.Sub(l.From)))
	l.rows(&b)
	b.WriteString("\n")
	l.totals(&b)
	for i, r := range l.Refused {
		if i == 0 {
			b.WriteString("\nPods that would have had no node:\n")
		}
		if i == mostRows {
			fmt.Fprintf(&b, "  and %d more; -o json has all\n", len(l.Refused)-i)
			break
		}
		fmt.Fprintf(&b, "  %s: %d of %s\n", stamp(r.At), r.Pods, r.Workload)
		for _, why := range r.Reasons {
			pool := ""
			if why.Pool != "" {
				pool = "pool " + why.Pool + ": "
			}
			fmt.Fprintf(&b, "    %s%s\n", pool, why.Text)
		}
	}
	if len(l.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, note := range l.Notes {
		b.WriteString("Note: " + note + "\n")
	}
	return b.String()
}

// rows writes the moments, but for those that are as the one before.
func (l Ledger) rows(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "time\tpods\twithout a node\tnodes\t$/hour\tlaunched\tgone\tnodes there were\t$/hour\t")
	var before Row
	shown, left := 0, 0
	for i, row := range l.Moments {
		same := row
		if same.At = before.At; i > 0 && same == before && row.Launched+row.Gone == 0 {
			left++
			continue
		}
		if before = row; shown == mostRows {
			left++
			continue
		}
		shown++
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%d\t%d\t%d\t%s\t\n", stamp(row.At), row.Pods, row.Refused, row.Nodes,
			dollars(row.Hourly), row.Launched, row.Gone, row.Was.Nodes, dollars(row.Was.Hourly))
	}
	w.Flush()
	switch {
	case shown == mostRows && left > 0:
		fmt.Fprintf(b, "Left out: %s of %d that are the same as before, or come after %d rows; -o json has all.\n",
			simulate.Count(left, "time"), len(l.Moments), mostRows)
	case left > 0:
		fmt.Fprintf(b, "Left out: %s of %d at which all was as before.\n", simulate.Count(left, "time"), len(l.Moments))
	}
}

// totals writes both accounts next to each other.
func (l Ledger) totals(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tthese pools\twhat was\t")
	line := func(what string, would, was any) { fmt.Fprintf(w, "%s\t%v\t%v\t\n", what, would, was) }
	line("nodes at the beginning", l.Would.Began, l.Was.Began)
	line("launched", l.Would.Launched, l.Was.Launched)
	line("gone", l.Would.Gone, l.Was.Gone)
	line("hours billed", l.Would.Hours, l.Was.Hours)
	line("cost", "$"+dollars(l.Would.Cost), "$"+dollars(l.Was.Cost))
	line("pod hours without a node", fmt.Sprintf("%.1f", l.PodHours), "not known")
	w.Flush()
	var why []string
	for _, r := range l.Reasons {
		why = append(why, fmt.Sprintf("%d %s", r.Nodes, strings.ToLower(r.Reason)))
	}
	if len(why) > 0 {
		fmt.Fprintf(b, "Disrupted: %s.\n", strings.Join(why, ", "))
	}
	for _, p := range l.Would.Plans {
		fmt.Fprintf(b, "pool %s, %s: %s, %s, $%s\n", p.Pool, p.Plan, simulate.Count(p.Machines, "machine"),
			simulate.Count(p.Hours, "hour"), dollars(p.Cost))
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
