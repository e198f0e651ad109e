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

// ruleChanges describe changes of guards, policies, the cluster of the directory and import blocks, which are not visible in
// objects.
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
		{plan.OwnCluster, "", clusterRules},
		{plan.OwnImports, "lkeplan takes over an existing object from its owner if it has the same values.", importRules},
	} {
		var changes []string
		old, now := of.rules(before), of.rules(after)
		for _, name := range slices.Sorted(maps.Keys(old)) {
			if old[name] != now[name] {
				changes = append(changes, change(name, old[name], now[name]))
				if of.guard == plan.OwnCluster {
					of.sentence = otherCluster(of.sentence, name)
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if _, had := old[name]; !had {
				changes = append(changes, fmt.Sprintf("%s: new, %s", name, now[name]))
			}
		}
		if was := old[directoryName]; was != now[directoryName] && of.guard == plan.OwnCluster && was != "" {
			of.sentence += fmt.Sprintf(" To keep the name of the directory, set directory = %q in the lkeplan block.", was)
		}
		if len(changes) > 0 {
			verdicts = append(verdicts, plan.Verdict{
				Guard: of.guard, Status: plan.Changed, Detail: strings.TrimSpace(strings.Join(changes, "; ") + ". " + of.sentence),
			})
		}
	}
	return verdicts
}

// directoryName is the name of the directory among the arguments of the cluster.
const directoryName = "name of the directory"

// change describes a rule that changes or is removed.
func change(name, old, now string) string {
	if now == "" {
		return fmt.Sprintf("%s is removed (it was %s)", name, old)
	}
	return fmt.Sprintf("%s: %s → %s", name, old, now)
}

// otherCluster describes the consequence of another value of an argument of the cluster block, or adds it to the
// consequence of another one.
func otherCluster(sentence, argument string) string {
	what := "to another cluster"
	switch argument {
	case "mode", "tier":
		what = "to another kind of cluster"
	case directoryName:
		what = "as objects of another directory"
	}
	switch {
	case sentence == "":
		return "The objects would be applied " + what + "."
	case strings.Contains(sentence, what+" ") || strings.Contains(sentence, what+"."):
		return sentence
	}
	return strings.TrimSuffix(sentence, ".") + " and " + what + "."
}

// guardRules are the guards as text, by argument.
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

// policyRules are the policies as written, by name.
func policyRules(c compile.Result) map[string]string {
	rules := map[string]string{}
	for _, p := range c.Policies {
		rules[p.Name] = strings.Join(strings.Fields(p.Source(c.Files)), " ")
	}
	return rules
}

// importRules are the objects of import blocks.
func importRules(c compile.Result) map[string]string {
	rules := map[string]string{}
	for _, i := range c.Imports {
		rules[i.Kind+" "+i.Name] = "taken over"
	}
	return rules
}

// clusterRules are the arguments of the cluster block. A new argument does not mean another cluster. The Kubernetes version
// is in the node classes.
func clusterRules(c compile.Result) map[string]string {
	if c.Cluster == (config.Cluster{}) {
		return nil
	}
	rules := map[string]string{"name": c.Cluster.Name, "region": c.Cluster.Region, "mode": schemas.ModeLKE}
	if c.Cluster.ID != 0 {
		rules["id"] = fmt.Sprint(c.Cluster.ID)
	}
	if c.Directory != "" {
		rules[directoryName] = c.Directory
	}
	if c.Cluster.Instances() {
		rules["mode"] = schemas.ModeInstance
	} else {
		rules["tier"] = cmp.Or(c.Cluster.Tier, "standard")
	}
	return rules
}
