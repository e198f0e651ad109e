package lint

// lints are what is taken, and hardly meant.
func lints() []Rule {
	return []Rule{
		{
			Name: "matches-no-plan", Title: "Pool matches no plan", Catalog: true, pool: matchesNoPlan,
			What: "No plan that is sold to the cluster has what a pool requires.",
			Why: "Karpenter leaves such a pool aside, and pods that only it would take wait for ever. The " +
				"message names the requirement that takes the last plan away.",
			Do: "Widen that requirement. \"lkeplan catalog refresh FILE\" and --catalog FILE check against " +
				"today's plans.",
			Example: "requirements = {\n  class = [\"dedicated\", \"standard\"]\n  cpu   = between(4, 16)\n}",
		},
		{
			Name: "min-values-unsatisfiable", Title: "More values required than there are",
			Catalog: true, pool: minValues,
			What: "A requirement wants more different values (atleast) than the plans that match have.",
			Why:  "Karpenter makes no node when it cannot choose among that many.",
			Do:   "Ask for fewer with atleast, or allow more plans.",
		},
		{
			Name: "limit-below-smallest-plan", Title: "Limit below the smallest plan",
			Catalog: true, pool: limitBelowPlan,
			What: "A limit of a pool is less than one node of the smallest plan that it allows.",
			Why: "No node fits, so none is ever made. A plan's memory counts as Kubernetes will see it: some 4 % " +
				"less than its name says.",
			Do: "Raise the limit, or allow smaller plans.",
		},
		{
			Name: "limits-block-a-roll", Title: "Limits leave no room to replace a node", pool: blocksARoll,
			What: "A limit of a pool has room for one node, and none for a second.",
			Why: "A change of a pool's template replaces its nodes, the new one being made before the old one " +
				"goes. Where the limit does not let it, the old node stays, " +
				"out of date, until it expires.",
			Do: "Give each limit room for one node more than the pool needs.",
		},
		{
			Name: "budget-never-opens", Title: "Budget never opens", pool: neverOpens,
			What: "A budget of zero nodes applies at all times, for every reason.",
			Why: "No node is ever merged or removed to save money, and no change of the pool reaches the nodes " +
				"that are there. A window that is as long as the time " +
				"between its starts never closes either.",
			Do: "Give it a schedule and a duration that end, or a number of nodes. To never consolidate, " +
				"write consolidate_after = \"Never\".",
			Example: "budget {\n  nodes = \"10%\"\n}\n\n" +
				"budget {\n  nodes    = 0\n  schedule = \"0 8 * * mon-fri\"\n  duration = \"10h\"\n}",
		},
		{
			Name: "budget-blocks-drift", Title: "Budget keeps changes from nodes", pool: blocksDrift,
			What: "A budget of zero nodes for the reason Drifted applies at all times.",
			Why: "Nodes that differ from what the pool asks for are never replaced. The next change of labels, " +
				"taints or the node class changes new nodes only.",
			Do: "Allow at least one: nodes = 1, reasons = [\"Drifted\"]; or give it a schedule.",
		},
		{
			Name: "budget-only-scheduled", Title: "No budget outside of the schedule", pool: onlyScheduled,
			What: "All budgets for a reason have a schedule.",
			Why: "A budget restricts what may be disrupted, and one with a schedule does so in its window. Outside " +
				"of all windows nothing restricts: all nodes may go " +
				"at once. It is often read the other way round, as the time when disruption is allowed. The " +
				"default of 10 % is gone once any budget is given.",
			Do: "Add a budget without a schedule for the rest of the time.",
			Example: "budget {\n  nodes = \"10%\"\n}\n\n" +
				"budget {\n  nodes    = 0\n  schedule = \"0 8 * * mon-fri\"\n  duration = \"10h\"\n}",
		},
		{
			Name: "schedule-never-fires", Title: "Schedule of a day that does not come", pool: neverFires,
			What: "The schedule of a budget names no day of the next years, such as 31 February.",
			Why:  "The budget never applies.",
			Do:   "Correct the day of the month or the month, the third and the fourth field.",
		},
		{
			Name: "overlapping-pools-equal-weight", Title: "Pools of equal weight overlap", find: equals,
			What: "The same pods can go to several pools, and none of them comes first.",
			Why: "Karpenter tries pools by weight, and those of equal weight by their names, from the end of the " +
				"alphabet. So which pool gets the nodes, its limits and " +
				"its plans hang on a name. Pools that differ in a taint, or in the value of a label, are told " +
				"apart by the pods.",
			Do: "Give the pool that is to come first a larger weight; or a taint or a label, and the pods a " +
				"toleration or a selector.",
			Example: "pool \"general\" {\n  node_class = node_class.default\n  weight     = 10\n}",
		},
		{
			Name: "shadowed-pool", Title: "Pool is never used", find: shadowed,
			What: "A pool with more weight, and without limits, takes every pod that this one could.",
			Why: "Pools are tried by weight. With a limit on the heavier one this is a good design: the lighter " +
				"one is for the rest.",
			Do: "Limit the heavier pool, give this one what the other has not, or take it out.",
		},
		{
			Name: "no-effect-on-lke", Title: "Argument without effect on LKE", find: noEffect,
			What: "A node class sets what LKE has no setting for: images, disks, keys, networks, the kubelet.",
			Why: "LKE makes its machines itself. The field is kept so that manifests of the existing provider " +
				"apply unchanged, but it reaches no machine. It is not part " +
				"of the class's hash either, so that a change of it replaces no node (with the existing provider " +
				"every node was rolled, for nothing).",
			Do: "Take it out.",
		},
		{
			Name: "nodes-limit-between-passes", Title: "Node limit is checked late", pool: betweenPasses,
			What: "The only limit of a pool is a number of nodes.",
			Why: "Karpenter compares it with the nodes that are there when a pass begins, and not with those that " +
				"it decides on in the pass. A burst of pods was seen to make 20 nodes where 3 were allowed.",
			Do: "Add cpu or memory, which are counted as nodes are decided on.",
		},
		{
			Name: "nodes-limit-unreachable", Title: "Node limit is never reached", pool: unreachable,
			What: "A pool may have more nodes than LKE allows in the whole cluster.",
			Why:  "A standard LKE cluster has 250 nodes at most. What limits the pool then is an error of LKE.",
			Do:   "Set 250 or less, for all pools together.",
		},
		{
			Name: "consolidate-before-hour", Title: "Nodes go before their hour is over", pool: beforeHour,
			What: "Nodes are removed after less than five minutes of quiet.",
			Why: "Linode bills each started hour. A node that goes early is paid for until its hour is over, " +
				"and a node that comes back within it is paid for twice.",
			Do:      "Wait five minutes or more, as long as pods take to come and go.",
			Example: "disruption {\n  consolidate_after = \"15m\"\n}",
		},
		{
			Name: "short-expiry", Title: "Nodes expire within a day", pool: shortExpiry,
			What: "Nodes are drained less than 24 hours after they were made.",
			Why:  "Expiry is not held back by budgets, and the successor is made only as the pods wait for it.",
			Do:   "Write days, in hours: \"336h\".",
		},
		{
			Name: "expiry-without-budget", Title: "Budgets do not hold back expiry", pool: expiryIgnoresBudgets,
			What: "A pool freezes its nodes with a budget of zero, and they expire.",
			Why: "Budgets are about consolidation and drift. Expiry drains a node at its age, also in a frozen " +
				"window, without a successor being made first; pod disruption " +
				"budgets hold until termination_grace_period is over. Where expire_after is left out it is 720h.",
			Do: "Write expire_after = \"Never\" and roll nodes by a change of the pool, or ignore this with a " +
				"reason.",
			Example: "expire_after = \"Never\"",
		},
		{
			Name: "static-limit-equals-replicas", Title: "No room to replace static nodes", pool: staticFull,
			What: "The limit of nodes of a static pool is its number of replicas, or less.",
			Why: "A drifted node of a static pool is replaced by making the new one first. There is no place " +
				"for it, so the node is never replaced.",
			Do:      "Allow as many nodes more as may be replaced at a time.",
			Example: "replicas = 3\nlimits   = { nodes = 4 }",
		},
		{
			Name: "gated-feature", Title: "Feature that is off by default", find: gated,
			What:    "An object or argument needs a feature gate of Karpenter.",
			Why:     "Without the gate it is ignored, without a condition or an event.",
			Do:      "Start the controller with --feature-gates, and ignore this with that reason.",
			Example: "# lkeplan:ignore gated-feature StaticCapacity is on in prod\nreplicas = 3",
		},
		{
			Name: "empty-buffer", Title: "Buffer of nothing", find: emptyBuffers,
			What: "A CapacityBuffer has neither a pod template nor a workload.",
			Why:  "It holds no room for anything.",
			Do:   "Name one of them.",
		},
		{
			Name: "overlay-of-no-plan", Title: "Overlay of no plan", find: overlaysOfNothing,
			What: "No plan that is sold to the cluster has what an overlay requires.",
			Why:  "The overlay changes no price and adds no resource, and nothing says so.",
			Do:   "Correct the requirements: names of plans above all.",
		},
		{
			Name: "overlays-conflict", Title: "Overlays of equal weight conflict", find: overlaysConflict,
			What: "Two overlays of one weight set the price, or the same resource, of one plan.",
			Why: "Karpenter goes by weight, then by name from the end of the alphabet, and applies no part of the " +
				"one that comes second. Its condition says so; its plans keep their prices.",
			Do: "Give the one that is to count a larger weight, or divide the plans between them.",
		},
		{
			Name: "unknown-plan", Title: "Unknown plan", Catalog: true, find: unknownPlans,
			What: "A pool asks for a plan by a name that is not in the catalogue.",
			Why: "If the name is wrong, there is no such plan. If the plan is new, the catalogue is old, and does " +
				"not have its size and price.",
			Do: "Correct the name, or refresh the catalogue: lkeplan catalog refresh FILE, then --catalog FILE.",
		},
		{
			Name: "plan-not-sold", Title: "Plan not sold in the region", Catalog: true, find: notSold,
			What: "A pool asks for a plan by name that the cluster's region does not sell.",
			Why: "Premium plans, GPUs and accelerators are sold in some regions only, and nanodes never for LKE. " +
				"The pool uses the others that it allows.",
			Do: "Take the plan out, or choose another region.",
		},
		{
			Name: "retired-plan", Title: "Plan is being replaced", find: retiredPlans,
			What: "A pool asks for a plan by name that has a successor.",
			Why: "Linode stops selling such plans after a while. When it does, a pool that allows no other gets " +
				"no nodes.",
			Do: "Allow the successor as well.",
		},
		{
			Name: "uncapped-plan-size", Title: "Size of plans is not capped", pool: uncapped,
			What: "A pool may buy plans of 32 CPUs and more, and nothing says that it should.",
			Why: "Of the plans that fit the waiting pods, Karpenter packs many pods on few large nodes. Large " +
				"plans cost as much for each CPU, are half empty for longer, and " +
				"drain many pods at once.",
			Do:      "Cap the plans: cpu = lte(16).",
			Example: "requirements = {\n  cpu = lte(16)\n}",
		},
	}
}

// The names of what is found in comments.
const (
	IgnoreUnknown       = "ignore-unknown"
	IgnoreUnused        = "ignore-unused"
	IgnoreWithoutReason = "ignore-without-reason"
)

// comments are rules about comments, which the caller has.
func comments() []Rule {
	return []Rule{
		{
			Name: IgnoreUnknown, Title: "Ignore comment with an unknown name",
			What: "A lkeplan:ignore comment names no rule, or one whose findings are errors.",
			Why:  "It silences nothing.",
			Do:   "Correct the name. \"lkeplan explain\" lists them.",
			Example: "# lkeplan:ignore uncapped-plan-size the pods of this pool are large\npool \"batch\" {\n  " +
				"node_class = node_class.default\n}",
		},
		{
			Name: IgnoreUnused, Title: "Ignore comment without effect",
			What: "A lkeplan:ignore comment silences nothing.",
			Why: "What it was for is gone, or is elsewhere. The comment would hide the next finding of this name, " +
				"which nobody has seen.",
			Do: "Take it out, or put it on the line above the block or argument.",
		},
		{
			Name: IgnoreWithoutReason, Title: "Ignore comment without a reason",
			What:    "A lkeplan:ignore comment does not say why.",
			Why:     "Whoever changes the pool next has to know whether the reason still holds.",
			Do:      "Write it behind the name.",
			Example: "# lkeplan:ignore expiry-without-budget these pods take an hour's notice\nexpire_after = \"336h\"",
		},
	}
}
