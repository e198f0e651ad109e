package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/engine/simulate/step"
)

// Text tells the steps for people, and what to write for the best one.
func Text(target, by string, asked int, steps []Step) string {
	head, what, none := "largest node", "with each cap on "+by, "No cap makes it cheaper.\n"
	if by == byClass {
		head, what = "class", "with each class of plans, and the cap on cpu that is best for it"
		none = "No class makes it cheaper.\n"
	}
	rows := [][]string{{head, "", "nodes", "refused", "$/hour", "$/month"}}
	var now Step
	for _, tried := range steps {
		if tried.unchanged() {
			now = tried
		}
		rows = append(rows, []string{
			tried.name(by), "", strconv.Itoa(tried.Nodes), strconv.Itoa(tried.Refused), step.Dollars(tried.Cost.Hourly, 3),
			step.Dollars(tried.Cost.Monthly, 2),
		})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s.\n\n%s\n", target, step.Count(asked, "pod"), what, step.Aligned(rows))
	best := steps[0]
	if best.unchanged() || best.Refused == now.Refused && best.Cost.Monthly >= now.Cost.Monthly {
		b.WriteString(none)
		return b.String()
	}
	fmt.Fprintf(&b, "The first costs $%s a month instead of $%s. In the requirements of the pools:\n",
		step.Dollars(best.Cost.Monthly, 2), step.Dollars(now.Cost.Monthly, 2))
	for _, p := range best.Pools {
		fmt.Fprintf(&b, "  pool %s: %s\n", p.Pool, p.HCL)
	}
	if note := sharing[best.Class]; note != "" {
		b.WriteString(note + "\n")
	}
	return b.String()
}

// sharing says what a class is besides its price.
var sharing = map[string]string{
	"standard": "Plans of this class share their CPUs with others: what pods get of them varies.",
}

// name says what is different in a step.
func (s Step) name(by string) string {
	if s.unchanged() {
		return "as it is"
	}
	most := "at most " + strings.Trim(sizeOf(by).hcl(s.Most), `"`)
	if by != "memory" {
		most += " CPUs"
	}
	switch {
	case s.Class == "":
		return most
	case s.Most == 0:
		return s.Class
	}
	return s.Class + ", " + most
}
