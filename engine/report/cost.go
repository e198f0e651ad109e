package report

import (
	"strings"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// dollars writes an amount for people, rounded up.
func dollars(m catalog.Money) string { return plan.Ceiling{Monthly: m}.String() }

// ceilings writes what something can cost in a month before and after; once
// where it is the same, "" where it costs nothing.
func ceilings(before, after *plan.Cost) string {
	return compared(before, after, func(c plan.Cost) string { return c.Ceiling.String() })
}

// floors writes what something costs at least; "" where that is nothing.
func floors(before, after *plan.Cost) string {
	nothing := func(c *plan.Cost) bool { return c == nil || c.Floor == 0 && !c.FloorUnknown }
	if nothing(before) && nothing(after) {
		return ""
	}
	return compared(before, after, func(c plan.Cost) string {
		if c.FloorUnknown && c.Floor == 0 {
			return "an unknown amount"
		}
		return dollars(c.Floor)
	})
}

func compared(before, after *plan.Cost, text func(plan.Cost) string) string {
	switch {
	case before == nil && after == nil:
		return ""
	case before == nil:
		return text(*after)
	case after == nil:
		return text(*before) + " → nothing"
	case text(*before) == text(*after):
		return text(*before)
	}
	return text(*before) + " → " + text(*after)
}

// bill says what all pools together cost.
func bill(r Report) string {
	if r.Incomplete {
		return "Cost: unknown, as not each directory has a plan."
	}
	parts := []string{"Most a month: " + ceilings(&r.Before, &r.After) + ", all pools together"}
	if text := floors(&r.Before, &r.After); text != "" {
		parts = append(parts, "at least "+text)
	}
	if r.Current != nil {
		parts = append(parts, "the live nodes cost "+dollars(*r.Current))
	}
	return strings.Join(parts, "; ") + "."
}
