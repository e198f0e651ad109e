package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// A Life is a machine from when it was made until it was gone.
type Life struct {
	Node   string        `json:"node"`
	Pool   string        `json:"pool"`
	Plan   string        `json:"plan"`
	From   time.Time     `json:"from"`
	Until  time.Time     `json:"until"`
	Reason string        `json:"reason,omitempty"` // why it went; "" where it is there at the end, or nobody knows
	Price  catalog.Price `json:"-"`
}

// An Account is what machines have come to.
type Account struct {
	Began    int           `json:"began"`    // that are there at the beginning
	Launched int           `json:"launched"` // after it
	Gone     int           `json:"gone"`     // before the end
	Hours    int           `json:"hours"`    // that are billed
	Cost     catalog.Money `json:"cost"`
	Plans    []PlanAccount `json:"plans"` // by pool and plan type
}

// PlanAccount is the share of the machines of a pool that have one plan type.
type PlanAccount struct {
	Pool     string        `json:"pool"`
	Plan     string        `json:"plan"`
	Machines int           `json:"machines"`
	Hours    int           `json:"hours"`
	Cost     catalog.Money `json:"cost"`
}

// bill adds up lives between two times. What was before the first is not billed, and what is
// there at the second is billed until then.
func bill(lives []Life, from, until time.Time) Account {
	a := Account{Plans: []PlanAccount{}}
	at := map[[2]string]int{}
	for _, l := range lives {
		hours, cost := l.bill(from, until)
		if hours == 0 {
			continue
		}
		if l.From.After(from) {
			a.Launched++
		} else {
			a.Began++
		}
		if l.Until.Before(until) {
			a.Gone++
		}
		a.Hours, a.Cost = a.Hours+hours, a.Cost+cost
		key := [2]string{l.Pool, l.Plan}
		if _, known := at[key]; !known {
			at[key] = len(a.Plans)
			a.Plans = append(a.Plans, PlanAccount{Pool: l.Pool, Plan: l.Plan})
		}
		p := &a.Plans[at[key]]
		p.Machines, p.Hours, p.Cost = p.Machines+1, p.Hours+hours, p.Cost+cost
	}
	slices.SortFunc(a.Plans, func(a, b PlanAccount) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Plan, b.Plan))
	})
	return a
}

// bill is what one machine costs between two times. An hour that has begun is billed, in the
// calendar month in which it began, and no month costs more than the monthly price.
func (l Life) bill(from, until time.Time) (hours int, cost catalog.Money) {
	if l.From.After(from) {
		from = l.From
	}
	if l.Until.Before(until) {
		until = l.Until
	}
	for from.Before(until) {
		y, m, _ := from.UTC().Date()
		end := time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
		if until.Before(end) {
			end = until
		}
		begun := int((end.Sub(from) + time.Hour - 1) / time.Hour)
		hours, cost = hours+begun, cost+l.Price.For(begun)
		from = from.Add(time.Duration(begun) * time.Hour)
	}
	return hours, cost
}
