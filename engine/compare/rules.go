package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
)

// ruleChanges describe changes of guards, policies, the cluster of the directory and import blocks, which are not
// visible in objects.
func ruleChanges(before, after compile.Result) (verdicts []plan.Verdict) {
	if len(before.Files) == 0 || len(after.Files) == 0 { // the directory is new or removed
		return nil
	}
	for _, of := range []struct {
		guard, sentence string
		rules           func(compile.Result) map[string]string
	}{
		{plan.OwnGuards, "The guards of the base apply to this change, and the new guards to the next change.", guardRules},
		{plan.OwnPolicies, "The policies of the base apply to this change, and the new policies to the next change.", policyRules},
		{plan.OwnCluster, "Check that the objects still belong to this cluster and this directory.", clusterRules},
		{plan.OwnImports, "lkeplan takes over an existing object from its owner if it has the same values.", importRules},
	} {
		var changes []string
		old, now := of.rules(before), of.rules(after)
		names := slices.Concat(slices.Collect(maps.Keys(old)), slices.Collect(maps.Keys(now)))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if old[name] != now[name] {
				changes = append(changes, fmt.Sprintf("%s: %s → %s", name, cmp.Or(old[name], "none"), cmp.Or(now[name], "none")))
			}
		}
		if len(changes) > 0 {
			verdicts = append(verdicts, plan.Verdict{
				Guard: of.guard, Status: plan.Changed, Detail: strings.Join(changes, "; ") + ". " + of.sentence,
			})
		}
	}
	return verdicts
}

// guardRules returns the guards as text, by argument.
func guardRules(c compile.Result) map[string]string {
	g := c.Guards
	rules := map[string]string{
		plan.EmptyResult:          fmt.Sprint(g.AllowEmpty),
		plan.ProtectedPool:        cmp.Or(strings.Join(g.Protected, ", "), "none"),
		plan.MaxDeletedPools:      fmt.Sprint(g.MaxDeletedPools),
		plan.MaxDeletedNodes:      cmp.Or(g.MaxDeletedNodes.Text, "0"),
		plan.MaxRolledNodes:       cmp.Or(g.MaxRolledNodes.Text, "any number"),
		plan.MaxUnschedulablePods: "0",
		"prune":                   "gracefully",
		"unknown":                 schemas.AllowUnknown,
	}
	if g.RefuseUnknown {
		rules["unknown"] = schemas.RefuseUnknown
	}
	if most := g.MaxUnschedulablePods; most != nil {
		rules[plan.MaxUnschedulablePods] = fmt.Sprint(*most)
	}
	if g.PruneNow {
		rules["prune"] = "now"
	}
	for _, f := range g.Freezes {
		rules[plan.Frozen+" "+f.Name] = fmt.Sprintf("%s for %s", f.Schedule, f.Duration)
	}
	for _, w := range g.Windows {
		rules[plan.ChangeWindow+" "+w.Name] = fmt.Sprintf("%s for %s", w.Schedule, w.Duration)
	}
	return rules
}

// policyRules returns the policies as written, by name.
func policyRules(c compile.Result) map[string]string {
	rules := map[string]string{}
	for _, p := range c.Policies {
		rules[p.Name] = strings.Join(strings.Fields(p.Source(c.Files)), " ")
	}
	return rules
}

// importRules returns the objects of import blocks.
func importRules(c compile.Result) map[string]string {
	rules := map[string]string{}
	for _, i := range c.Imports {
		rules[i.Kind+" "+i.Name] = "taken over"
	}
	return rules
}

// clusterRules returns the arguments of the cluster block. The Kubernetes version is in the node classes.
func clusterRules(c compile.Result) map[string]string {
	if c.Cluster == (config.Cluster{}) {
		return nil
	}
	rules := map[string]string{"name": c.Cluster.Name, "region": c.Cluster.Region, "mode": schemas.ModeLKE}
	if c.Cluster.ID != 0 {
		rules["id"] = fmt.Sprint(c.Cluster.ID)
	}
	if c.Directory != "" {
		rules["name of the directory"] = c.Directory
	}
	if c.Cluster.Instances() {
		rules["mode"] = schemas.ModeInstance
	} else {
		rules["tier"] = cmp.Or(c.Cluster.Tier, "standard")
	}
	return rules
}
