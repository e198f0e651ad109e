package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// was is what there was at a moment.
func was(m Moment) (row WasRow) {
	for _, machine := range m.Machines {
		row.Nodes++
		if machine.Price != nil {
			row.Hourly += machine.Price.Hourly
		}
	}
	return row
}

// lives are the machines that there were. One that a moment does not have any more was there
// until that moment, for nobody knows better, and one that was made and was gone between two
// is not known at all.
func lives(moments []Moment) (all []Life, notes []string) {
	type key struct {
		name string
		made time.Time
	}
	at, unpriced := map[key]int{}, map[string]bool{}
	for i, m := range moments {
		there := map[key]bool{}
		for _, machine := range m.Machines {
			id := key{machine.Name, machine.Made}
			there[id] = true
			if _, known := at[id]; known {
				continue
			}
			at[id] = len(all)
			life := Life{Node: machine.Name, Pool: machine.Pool, Plan: machine.Plan, From: machine.Made}
			if machine.Price != nil {
				life.Price = *machine.Price
			} else {
				unpriced[machine.Plan] = true
			}
			all = append(all, life)
		}
		for id, j := range at {
			if all[j].Until.IsZero() && (!there[id] || i == len(moments)-1) {
				all[j].Until = m.At
			}
		}
	}
	notes = append(notes, fmt.Sprintf("Of what was, machines count from when they were made to the first snapshot that "+
		"does not have them; those that came and went between two snapshots, %s apart at most, are not known.",
		gap(moments)))
	if len(unpriced) > 0 {
		plans := slices.Sorted(maps.Keys(unpriced))
		for i, plan := range plans {
			if plan == "" {
				plans[i] = "a plan type that is not known"
			}
		}
		notes = append(notes, fmt.Sprintf("What was has cost more than is told: the snapshots have no price for %s.",
			strings.Join(plans, ", ")))
	}
	return all, notes
}

// gap is the longest time between two moments.
func gap(moments []Moment) string {
	longest := time.Duration(0)
	for i, m := range moments[1:] {
		longest = max(longest, m.At.Sub(moments[i].At))
	}
	return spell(longest)
}

// spell writes a duration without units of which it has none.
func spell(d time.Duration) string {
	text := d.Round(time.Second).String()
	text = strings.TrimSuffix(text, "0s")
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	if text == "" {
		return "0s"
	}
	if last := text[len(text)-1]; last >= '0' && last <= '9' { // 10s has lost its unit
		return d.Round(time.Second).String()
	}
	return text
}

// dollars is an amount with as many decimals as are read.
func dollars(m catalog.Money) string { return fmt.Sprintf("%.3f", m.Float64()) }
