package lint

import (
	"slices"
	"strings"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/linode/age"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// reasons are the disruption reasons of budgets.
var reasons = []karpv1.DisruptionReason{
	karpv1.DisruptionReasonDrifted, karpv1.DisruptionReasonEmpty, karpv1.DisruptionReasonUnderutilized,
}

// closed reports whether a budget allows no disruption.
func closed(b karpv1.Budget) bool { return b.Nodes == "0" || strings.Trim(b.Nodes, "0") == "%" }

func concerns(b karpv1.Budget, reason karpv1.DisruptionReason) bool {
	return b.Reasons == nil || slices.Contains(b.Reasons, reason)
}

// always reports whether a budget applies at all times.
func always(b karpv1.Budget) bool { return b.Schedule == nil && b.Duration == nil }

// shut returns the budget that always blocks a reason, for each such reason.
func shut(p *pool) map[karpv1.DisruptionReason]int {
	shut := map[karpv1.DisruptionReason]int{}
	for i, b := range p.Spec.Disruption.Budgets {
		if !closed(b) || !always(b) {
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

// neverOpens finds budgets that block all disruption forever.
func neverOpens(c *checker, p *pool) {
	shut := shut(p)
	if len(shut) < len(reasons) {
		return
	}
	i := shut[karpv1.DisruptionReasonDrifted]
	c.report(p.object.Addr, budgetPath(i)+".nodes",
		"The budget allows no disruption, at all times: no node is ever consolidated, and a change of the pool does not reach "+
			"existing nodes until they expire. Allow at least one node, or give the budget a schedule and a duration.")
}

// blocksDrift finds budgets that block the replacement of nodes.
func blocksDrift(c *checker, p *pool) {
	shut := shut(p)
	i, blocked := shut[karpv1.DisruptionReasonDrifted]
	if !blocked || len(shut) == len(reasons) {
		return // budget-never-opens
	}
	c.report(p.object.Addr, budgetPath(i)+".nodes",
		"The budget never allows drifted nodes to be replaced: a change of the pool or of its node class does not reach "+
			"existing nodes until they expire. Allow at least one node for the reason Drifted, or give the budget a "+
			"schedule.")
}

// neverFires finds schedules whose date does not occur.
func neverFires(c *checker, p *pool) {
	for i, b := range p.Spec.Disruption.Budgets {
		if b.Schedule == nil {
			continue
		}
		if s := c.schedule(*b.Schedule); s.err == nil && !s.fires {
			c.report(p.object.Addr, budgetPath(i)+".schedule",
				"%q names a date that does not occur, so the budget never applies. Correct the day or the month.", *b.Schedule)
		}
	}
}

// eitherDay finds schedules that start on more days than they seem to.
func eitherDay(c *checker, p *pool) {
	for i, b := range p.Spec.Disruption.Budgets {
		if b.Schedule != nil {
			if why := schedule.EitherDay(*b.Schedule); why != "" {
				c.report(p.object.Addr, budgetPath(i)+".schedule", "%s", why)
			}
		}
	}
}

// onlyScheduled finds scheduled budgets without a budget for the rest of the time. Such a budget is often mistaken for a
// maintenance window, and means the opposite.
func onlyScheduled(c *checker, p *pool) {
	var open []string
	first := -1
	for _, reason := range reasons {
		scheduled, base := -1, false
		for i, b := range p.Spec.Disruption.Budgets {
			switch {
			case !concerns(b, reason):
			case always(b):
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
		which = "nodes that are " + strings.Join(open, " or ")
	}
	c.report(p.object.Addr, budgetPath(first)+".schedule",
		"This budget limits disruption only while its schedule is active. At other times no budget applies: all %s may be "+
			"disrupted at the same time. Add a budget without a schedule, such as nodes = \"10%%\".", which)
}

// expiryIgnoresBudgets finds pools whose budgets block disruption at times, and whose nodes expire at any time.
func expiryIgnoresBudgets(c *checker, p *pool) {
	expires := p.Spec.Template.Spec.ExpireAfter.Duration
	i := slices.IndexFunc(p.Spec.Disruption.Budgets, closed)
	if refreshed, err := age.After(p.NodePool); expires == nil || i < 0 || err == nil && refreshed > 0 {
		return // with refresh_after, expire_after is a last resort, or expires-before-refresh
	}
	path := budgetPath(i)
	if written, ok := manifest.Lookup(p.object.Manifest, "spec", "template", "spec", "expireAfter"); ok && written != nil {
		path = "spec.template.spec.expireAfter"
	}
	c.report(p.object.Addr, path,
		"Nodes expire %s after their creation, even while a budget blocks disruption. Karpenter drains them without "+
			"creating replacements first. To replace nodes by age within the budgets, set refresh_after = %q and "+
			"expire_after = \"Never\". If expire_after is meant as a last resort, suppress this warning with the comment "+
			"\"# lkeplan:ignore expiry-without-budget REASON\".", text.Duration(*expires), text.Duration(*expires))
}

// expiresBeforeRefresh finds pools whose nodes expire at the latest when they are to be refreshed, so that Karpenter drains
// them at any time, without replacements first.
func expiresBeforeRefresh(c *checker, p *pool) {
	after, err := age.After(p.NodePool)
	if expires := p.Spec.Template.Spec.ExpireAfter.Duration; err == nil && after > 0 && expires != nil && *expires <= after {
		c.report(p.object.Addr, "metadata.annotations."+schemas.AnnotationRefreshAfter,
			"Nodes are to be replaced within the budgets by the age of %s, but they expire %s after their creation, regardless of "+
				"budgets and without replacements first (the default of expire_after is 720h). Set expire_after = \"Never\", or, as a last resort "+
				"for nodes that nothing else could replace, to much more than refresh_after.", text.Duration(after), text.Duration(*expires))
	}
}

// shortRefresh finds pools that replace their nodes every day.
func shortRefresh(c *checker, p *pool) {
	if after, err := age.After(p.NodePool); err == nil && after > 0 && after < 24*time.Hour {
		c.report(p.object.Addr, "metadata.annotations."+schemas.AnnotationRefreshAfter,
			"Each node is replaced %s after its creation, and Linode bills whole hours. To get new node images, set refresh_after to "+
				"several days, such as \"336h\".", text.Duration(after))
	}
}

// joining is how long a Linode can take until its node is ready and pods have run for a moment.
const joining = 10 * time.Minute

// expiresTooSoon finds pools that keep creating and deleting nodes, because Karpenter drains a node at its age even if it has
// not joined.
func expiresTooSoon(c *checker, p *pool) {
	if expires := p.Spec.Template.Spec.ExpireAfter.Duration; expires != nil && *expires < joining {
		c.report(p.object.Addr, "spec.template.spec.expireAfter",
			"Each node is drained %s after it was requested, and a Linode takes minutes to join the cluster: the pool keeps "+
				"buying nodes on which no pod runs. Write \"10m\" or more, or \"Never\".", text.Duration(*expires))
	}
}

func shortExpiry(c *checker, p *pool) {
	expires := p.Spec.Template.Spec.ExpireAfter.Duration
	if expires != nil && *expires >= joining && *expires < 24*time.Hour {
		c.report(p.object.Addr, "spec.template.spec.expireAfter",
			"Each node is drained %s after its creation, regardless of budgets, and Linode bills whole hours. To get "+
				"new node images, set expire_after to several days, such as \"336h\". To save money, use consolidation in the "+
				"disruption block.",
			text.Duration(*expires))
	}
}

// churn is how long a node should be idle before it is removed. Whole hours are billed, and with a shorter time a node can
// be bought a dozen times per hour.
const churn = 5 * time.Minute

func beforeHour(c *checker, p *pool) {
	after := p.Spec.Disruption.ConsolidateAfter.Duration
	_, given := manifest.Lookup(p.object.Manifest, "spec", "disruption", "consolidateAfter")
	if !given || after == nil || *after >= churn || p.static() {
		return
	}
	c.report(p.object.Addr, "spec.disruption.consolidateAfter",
		"Karpenter may remove a node %s after a pod was last added to it or removed from it. Linode bills whole hours, so "+
			"you pay for the rest of the hour, and for another node if the pods come back. Write \"5m\" or more, such as "+
			"\"15m\".",
		text.Duration(*after))
}
