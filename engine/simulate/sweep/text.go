package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// Text tells the steps for people, and what to write for the best one. Where not all have the
// same pods on nodes, it says what each of those costs, and which have none.
func Text(target, by string, asked int, steps []Step) string {
	head, what, none := "largest node", "with each cap on "+by, "No cap makes it cheaper.\n"
	if by == byClass {
		head, what = "class", "with each class of plans, and the cap on cpu that is best for it"
		none = "No class makes it cheaper.\n"
	}
	alike := !slices.ContainsFunc(steps, func(s Step) bool { return !s.SamePods(steps[0]) })
	rows := [][]string{{head, "", "nodes", "refused", "$/hour", "$/month"}}
	if !alike {
		rows[0] = append(rows[0], "$/month a placed pod")
	}
	var now Step
	for _, tried := range steps {
		if tried.unchanged() {
			now = tried
		}
		row := []string{
			tried.name(by), "", strconv.Itoa(tried.Nodes), strconv.Itoa(tried.Refused), simulate.Dollars(tried.Cost.Hourly, 3),
			simulate.Dollars(tried.Cost.Monthly, 2),
		}
		if !alike {
			row = append(row, tried.perPod())
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s.\n\n%s\n", target, simulate.Count(asked, "pod"), what, simulate.Aligned(rows))
	b.WriteString(without(by, steps))
	best := steps[0]
	if best.unchanged() || best.SamePods(now) && best.Cost.Monthly >= now.Cost.Monthly {
		if !alike {
			none = "Nothing gives as many pods a node for less.\n"
		}
		b.WriteString(none)
		return b.String()
	}
	b.WriteString(best.against(now) + " In the requirements of the pools:\n")
	for _, p := range best.Pools {
		fmt.Fprintf(&b, "  pool %s: %s\n", p.Pool, p.HCL)
	}
	if note := sharing[best.Class]; note != "" {
		b.WriteString(note + "\n")
	}
	return b.String()
}

// perPod is what a placed pod costs a month, as it is written.
func (s Step) perPod() string {
	if s.Placed == 0 {
		return "-"
	}
	return simulate.Dollars(s.each(), 2)
}

// against compares the best step with the pools as they are: what they cost, where they have
// the same pods, and else what a placed pod costs.
func (s Step) against(now Step) string {
	cost := fmt.Sprintf("costs $%s a month instead of $%s", simulate.Dollars(s.Cost.Monthly, 2),
		simulate.Dollars(now.Cost.Monthly, 2))
	if s.SamePods(now) {
		return "The first " + cost + "."
	}
	each := fmt.Sprintf("$%s for each of its %s", s.perPod(), simulate.Count(s.Placed, "pod"))
	if now.Placed > 0 {
		each += fmt.Sprintf(" instead of $%s for each of %d", now.perPod(), now.Placed)
	}
	pods := "has a node for other pods"
	if more := s.Placed - now.Placed; more > 0 {
		pods = fmt.Sprintf("has a node for %s more", simulate.Count(more, "pod"))
	}
	return fmt.Sprintf("The first %s, and %s: %s.", pods, cost, each)
}

// without says which pods have no node, and why, once for all steps of which that is the same.
func without(by string, steps []Step) string {
	var texts []string
	names := map[string][]string{}
	for _, tried := range steps {
		if tried.Refused == 0 {
			continue
		}
		text := simulate.RefusalsText(tried.Refusals)
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], tried.name(by))
	}
	var b strings.Builder
	for i, text := range texts {
		if i == mostTold {
			fmt.Fprintf(&b, "Others have no node with %s; -o json has all.\n\n", simulate.Count(len(texts)-i, "other choice"))
			break
		}
		fmt.Fprintf(&b, "Without a node (%s):\n%s\n", strings.Join(names[text], "; "), text)
	}
	return b.String()
}

// mostTold are told of what has no node, the best steps first.
const mostTold = 4

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
