package compile

import (
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/schedule"
)

// checkPeriods reports invalid schedules, and freezes and windows that never let a change through.
func checkPeriods(g config.Guards) hcl.Diagnostics {
	leapYear := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	freezes, diags := checkSchedules("freeze", "the freeze never starts", g.Freezes, g, leapYear)
	windows, more := checkSchedules("window", "the window never starts", g.Windows, g, leapYear)
	if diags = append(diags, more...); diags.HasErrors() || len(freezes) == 0 {
		return diags
	}
	at := g.Origins.Find("freeze." + g.Freezes[0].Name + ".schedule")
	if schedule.Opens(nil, freezes, leapYear).IsZero() {
		return append(diags, at.Error("Freeze without an end", "At each minute of the year a freeze is active, so no change could ever "+
			"replace or delete a node. Shorten the duration, or restrict the schedule, such as \"0 16 * * fri\" for 64h."))
	}
	if schedule.Opens(windows, freezes, leapYear).IsZero() {
		return append(diags, at.Error("Windows that never open", "A freeze is active at each minute of the windows, so no change could "+
			"ever replace or delete a node. Shorten the freezes, or add a window outside of them."))
	}
	return diags
}

// checkSchedules reads the schedules of freezes or windows. One that does not start from a time on is an error.
func checkSchedules(block, consequence string, periods []config.Period, g config.Guards, from time.Time) (
	all []schedule.Recurrence, diags hcl.Diagnostics) {
	for _, p := range periods {
		read, err := schedule.Recur(p.Schedule, p.Duration)
		detail := ""
		switch {
		case err != nil:
			detail = fmt.Sprintf("%v. Write the schedule of a %s in cron notation, minute first, such as \"0 16 * * fri\".",
				err, block)
		case read.Next(from).IsZero():
			detail = fmt.Sprintf("%q names a day that does not exist, so %s.", p.Schedule, consequence)
		}
		all = append(all, read)
		origin := g.Origins.Find(block + "." + p.Name + ".schedule")
		if detail != "" {
			diags = append(diags, origin.Error("Invalid schedule", detail))
		} else if why := schedule.EitherDay(p.Schedule); why != "" {
			diags = append(diags, origin.Warning("Schedule names two kinds of days", why))
		}
	}
	return all, diags
}
