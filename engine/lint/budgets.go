package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/timing"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// reasons are what nodes are disrupted for, and budgets can be about.
var reasons = []karpv1.DisruptionReason{
	karpv1.DisruptionReasonDrifted, karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonUnderutilized,
}

// closed reports whether a budget lets no node go.
func closed(b karpv1.Budget) bool { return b.Nodes == "0" || strings.Trim(b.Nodes, "0") == "%" }

func concerns(b karpv1.Budget, reason karpv1.DisruptionReason) bool {
	return b.Reasons == nil || slices.Contains(b.Reasons, reason)
}

// always reports whether a budget applies at every moment.
func (c *checker) always(b karpv1.Budget) bool {
	if b.Schedule == nil && b.Duration == nil {
		return true
	}
	if b.Schedule == nil || b.Duration == nil {
		return false
	}
	return c.covers(*b.Schedule, b.Duration.Duration)
}

// mostHits bounds the work on the schedules of one input: some hundred that
// fire each hour, each over a year.
const mostHits = 500_000

// covers reports whether windows of the duration leave no gap in a year. What
// it was asked before it knows.
func (c *checker) covers(text string, duration time.Duration) bool {
	key := fmt.Sprint(text, " ", duration)
	covers, known := c.covered[key]
	if !known {
		covers = c.leavesNoGap(c.schedule(text), duration)
		c.covered[key] = covers
	}
	return covers
}

func (c *checker) leavesNoGap(s schedule, duration time.Duration) bool {
	if s.err != nil || !s.fires {
		return false
	}
	hit := s.cron.Next(aYear.Add(-time.Second))
	if hit.Sub(aYear) > duration {
		return false
	}
	for end := aYear.AddDate(1, 0, 0); hit.Before(end); c.hits++ {
		next := s.cron.Next(hit)
		if c.hits > mostHits || next.IsZero() || next.Sub(hit) > duration {
			return false
		}
		if next.Sub(hit) < 10*time.Minute && hit.Sub(aYear) > 7*24*time.Hour {
			return true // what fires so often has shown its gaps in a week
		}
		hit = next
	}
	return true
}

// shut returns, for each reason that no node ever goes for, the budget that
// says so.
func (c *checker) shut(p *pool) map[karpv1.DisruptionReason]int {
	shut := map[karpv1.DisruptionReason]int{}
	for i, b := range p.Spec.Disruption.Budgets {
		if !closed(b) || !c.always(b) {
			continue
		}
		for _, reason := range reasons {
			if _, found := shut[reason]; !found && concerns(b, reason) {
				shut[reason] = i
			}
		}
	}
	return shut
}

// neverOpens finds budgets that keep every node for ever.
func neverOpens(c *checker, p *pool) {
	shut := c.shut(p)
	if len(shut) < len(reasons) {
		return
	}
	i := shut[karpv1.DisruptionReasonDrifted]
	when := "at all times"
	if b := p.Spec.Disruption.Budgets[i]; b.Schedule != nil {
		when = fmt.Sprintf("at all times, as a window of %s begins again before it ends",
			timing.WriteDuration(b.Duration.Duration))
	}
	c.report(p.object.Addr, budgetPath(i)+".nodes",
		"The budget allows no node to be disrupted, %s: none is ever merged or removed to save money, and no "+
			"change of the pool reaches its nodes before they expire.", when)
}

// blocksDrift finds budgets that keep changes from the nodes there are.
func blocksDrift(c *checker, p *pool) {
	shut := c.shut(p)
	i, blocked := shut[karpv1.DisruptionReasonDrifted]
	if !blocked || len(shut) == len(reasons) {
		return // budget-never-opens
	}
	c.report(p.object.Addr, budgetPath(i)+".nodes",
		"The budget allows no node to be replaced for drift, at any time: a change of the pool or of its node "+
			"class never reaches the nodes that are there, until they expire.")
}

// neverFires finds schedules of days that do not come.
func neverFires(c *checker, p *pool) {
	for i, b := range p.Spec.Disruption.Budgets {
		if b.Schedule == nil {
			continue
		}
		if s := c.schedule(*b.Schedule); s.err == nil && !s.fires {
			c.report(p.object.Addr, budgetPath(i)+".schedule",
				"%q names a day that does not come, so the budget never applies.", *b.Schedule)
		}
	}
}

// onlyScheduled finds budgets that apply at times, where nothing applies at
// the others. It is read as a maintenance window, and means its opposite.
func onlyScheduled(c *checker, p *pool) {
	var open []string
	first := -1
	for _, reason := range reasons {
		scheduled, base := -1, false
		for i, b := range p.Spec.Disruption.Budgets {
			switch {
			case !concerns(b, reason):
			case c.always(b):
				base = true
			case scheduled < 0:
				scheduled = i
			}
		}
		if base || scheduled < 0 {
			continue
		}
		open = append(open, string(reason))
		if first < 0 || scheduled < first {
			first = scheduled
		}
	}
	if first < 0 {
		return
	}
	which := "nodes"
	if len(open) < len(reasons) {
		which = "nodes that are " + say(open)
	}
	c.report(p.object.Addr, budgetPath(first)+".schedule",
		"A budget restricts, and this one does so in its window only. Outside of it there is no other: all %s "+
			"may be disrupted at once. Add a budget without a schedule, such as nodes = \"10%%\".", which)
}

// expiryIgnoresBudgets finds pools whose author keeps nodes at times, and whose
// nodes expire at any time.
func expiryIgnoresBudgets(c *checker, p *pool) {
	expires := p.Spec.Template.Spec.ExpireAfter.Duration
	i := slices.IndexFunc(p.Spec.Disruption.Budgets, closed)
	if expires == nil || i < 0 {
		return
	}
	path := budgetPath(i)
	if written, ok := manifest.Lookup(p.object.Manifest, "spec", "template", "spec", "expireAfter"); ok && written != nil {
		path = "spec.template.spec.expireAfter"
	}
	c.report(p.object.Addr, path,
		"Nodes expire %s after they were made, and budgets do not hold that back: a node is drained at its "+
			"age, in a frozen window too, and its successor is made only then. Write expire_after = \"Never\", or "+
			"accept it.", timing.WriteDuration(*expires))
}

// joining is what a Linode can take until its node is ready, and pods have run for a moment.
const joining = 10 * time.Minute

// expiresTooSoon finds pools that make nodes and delete them without end, as Karpenter drains a
// node at its age even if it has not joined.
func expiresTooSoon(c *checker, p *pool) {
	if expires := p.Spec.Template.Spec.ExpireAfter.Duration; expires != nil && *expires < joining {
		c.report(p.object.Addr, "spec.template.spec.expireAfter",
			"Each node is drained %s after it was asked for, and a Linode takes minutes to join: the pool buys nodes on "+
				"which no pod runs, again and again. Write 10m or more, or \"Never\".", timing.WriteDuration(*expires))
	}
}

func shortExpiry(c *checker, p *pool) {
	expires := p.Spec.Template.Spec.ExpireAfter.Duration
	if expires != nil && *expires >= joining && *expires < 24*time.Hour {
		c.report(p.object.Addr, "spec.template.spec.expireAfter",
			"Each node is drained %s after it was made, whatever budgets say, and each costs its started "+
				"hours. An age of days does for updates; use disruption to save money.",
			timing.WriteDuration(*expires))
	}
}

// churn is how long a node should be idle before it goes: an hour is paid for
// once it has begun, and below this a node can be bought a dozen times in it.
const churn = 5 * time.Minute

func beforeHour(c *checker, p *pool) {
	after := p.Spec.Disruption.ConsolidateAfter.Duration
	_, given := manifest.Lookup(p.object.Manifest, "spec", "disruption", "consolidateAfter")
	if !given || after == nil || *after >= churn || p.static() {
		return
	}
	c.report(p.object.Addr, "spec.disruption.consolidateAfter",
		"A node goes when it was quiet for %s. Linode bills each started hour, so it is paid for anyway, and "+
			"pods that come back within the hour pay for a second one. Write 5m or more.",
		timing.WriteDuration(*after))
}
