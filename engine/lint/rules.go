package lint

import (
	_ "embed"
	"strings"
	"sync"
)

// refusals are the rules whose findings are errors: the API server accepts the object, but Karpenter or LKE does not.
func refusals() []Rule {
	return explained([]Rule{
		{Name: "bad-schedule", Fatal: true, pool: schedules},
		{Name: "duplicate-taint", Fatal: true, pool: taintsTwice},
		{Name: "values-without-effect", Fatal: true, pool: operatorValues},
		{Name: "unknown-plan-label", Fatal: true, pool: planLabels},
		{Name: "negative-limit", Fatal: true, pool: negativeLimits},
		{Name: "capacity-type", Fatal: true, pool: capacityTypes},
		{Name: "bad-label", Fatal: true, pool: labelSyntax},
		{Name: "other-node-class", Fatal: true, pool: otherNodeClass},
		{Name: foreignLabel, find: foreignLabels},
		{Name: "label-of-linode", Fatal: true, find: linodeLabels},
		{Name: "impossible-requirement", Fatal: true, pool: impossible},
		{Name: "overlay-refused", Fatal: true, find: overlays},
		{Name: "unknown-region", Fatal: true, find: region},
		{Name: "tier-not-in-region", Catalog: true, find: tier},
		{Name: "class-refused", Fatal: true, find: classes},
		{Name: "label-refused", Fatal: true, pool: poolLabels},
		{Name: "label-contradicts-requirement", Fatal: true, pool: contradictions},
		{Name: "expires-before-it-joins", Fatal: true, pool: expiresTooSoon},
		{Name: "too-many-nodes", Fatal: true, find: counts},
		{Name: "pool-refused", Fatal: true, pool: theRest},
		{Name: "node-claims-refused", Fatal: true, pool: nodeClaims},
	})
}

// foreignLabel is also reported if there are errors.
const foreignLabel = "foreign-label"

// lints find what is accepted but probably not intended.
func lints() []Rule {
	return explained([]Rule{
		{Name: "matches-no-plan", Catalog: true, pool: matchesNoPlan},
		{Name: "min-values-unsatisfiable", Catalog: true, pool: minValues},
		{Name: "limit-below-smallest-plan", Catalog: true, find: limitsBelowPlan},
		{Name: "limits-block-a-roll", pool: blocksARoll},
		{Name: "budget-never-opens", pool: neverOpens},
		{Name: "budget-blocks-drift", pool: blocksDrift},
		{Name: "budget-only-scheduled", pool: onlyScheduled},
		{Name: "schedule-never-fires", pool: neverFires},
		{Name: "schedule-either-day", pool: eitherDay},
		{Name: "overlapping-pools-equal-weight", find: equals},
		{Name: "no-effect-on-lke", find: noEffect},
		{Name: "firewall-without-effect", find: firewalls},
		{Name: "disks-not-encrypted", find: encryption},
		{Name: "backups-not-in-price", find: backups},
		{Name: "swap-without-fail-swap-on", find: swap},
		{Name: "nodes-limit-between-passes", pool: betweenPasses},
		{Name: "nodes-limit-unreachable", pool: unreachable},
		{Name: "consolidate-before-hour", pool: beforeHour},
		{Name: "short-expiry", pool: shortExpiry},
		{Name: "expiry-without-budget", pool: expiryIgnoresBudgets},
		{Name: "expires-before-refresh", pool: expiresBeforeRefresh},
		{Name: "short-refresh", pool: shortRefresh},
		{Name: "static-limit-equals-replicas", pool: staticFull},
		{Name: "gated-feature", find: gated},
		{Name: "empty-buffer", find: emptyBuffers},
		{Name: "unknown-plan", Catalog: true, find: unknownPlans},
		{Name: "plan-not-sold", Catalog: true, find: notSold},
		{Name: "plan-without-price", Note: true, find: withoutPrice},
		{Name: "plan-out-of-stock", Note: true, find: outOfStock},
		{Name: "plan-needs-capability", Note: true, pool: needsCapability},
		{Name: "retired-plan", find: retiredPlans},
		{Name: "uncapped-plan-size", pool: uncapped},
	})
}

// The rules about pods, which package podlint checks.
const (
	UntoleratedTaint     = "untolerated-taint"
	TolerationOnly       = "toleration-without-selector"
	StartupTaintStays    = "startup-taint-stays"
	PodsBlockDrift       = "pods-block-drift"
	TerminationCutsShort = "termination-cuts-pods-short"
	LabelOfNoPool        = "label-of-no-pool"
	SpreadOverNoPool     = "spread-over-label-of-no-pool"
	ZoneSpreadOfOneZone  = "zone-spread-of-one-zone"
	GPUPodsWithoutPool   = "gpu-pods-without-pool"
	InPlaceSelected      = "in-place-label-selected"
)

// aboutPods are the rules that need pods.
func aboutPods() []Rule {
	return explained([]Rule{
		{Name: UntoleratedTaint, Pods: true}, {Name: TolerationOnly, Pods: true}, {Name: StartupTaintStays, Pods: true},
		{Name: PodsBlockDrift, Pods: true}, {Name: TerminationCutsShort, Pods: true},
		{Name: LabelOfNoPool, Pods: true}, {Name: SpreadOverNoPool, Pods: true},
		{Name: ZoneSpreadOfOneZone, Pods: true}, {Name: GPUPodsWithoutPool, Pods: true},
		{Name: InPlaceSelected, Pods: true},
	})
}

// rulesText is a Markdown page with a section for each rule: its name and title, a paragraph each for What, Why and Do, and an
// example in HCL.
//
//go:embed rules.md
var rulesText string

// texts are the sections of the page by name, as rules without a check.
var texts = sync.OnceValue(func() map[string]Rule {
	rules := map[string]Rule{}
	for section := range strings.SplitSeq("\n"+rulesText, "\n## ") {
		header, body, _ := strings.Cut(section, "\n\n")
		name, title, _ := strings.Cut(header, ": ")
		body, example, _ := strings.Cut(body, "\n```hcl\n")
		paragraphs := append(strings.Split(strings.TrimSpace(body), "\n\n"), "", "", "")
		for i, text := range paragraphs {
			paragraphs[i] = strings.Join(strings.Fields(text), " ")
		}
		rules[name] = Rule{
			Title: title, What: paragraphs[0], Why: paragraphs[1], Do: paragraphs[2],
			Example: strings.TrimSuffix(strings.TrimSpace(example), "\n```"),
		}
	}
	return rules
})

// explained adds the texts of the page to rules.
func explained(rules []Rule) []Rule {
	for i, r := range rules {
		text := texts()[r.Name]
		r.Title, r.What, r.Why, r.Do, r.Example = text.Title, text.What, text.Why, text.Do, text.Example
		rules[i] = r
	}
	return rules
}
