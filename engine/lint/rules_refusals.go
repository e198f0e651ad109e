package lint

// refusals are what ends in an error: Karpenter or LKE would not take it,
// although the API server does.
func refusals() []Rule {
	return []Rule{
		{
			Name: "bad-schedule", Title: "Invalid schedule", Fatal: true, pool: schedules,
			What: "The schedule of a budget is not a cron expression.",
			Why: "The CRD of NodePool only counts words. Karpenter parses the schedule each time it looks for " +
				"nodes to disrupt, and as it " +
				"cannot, it allows none: nothing in the pool is merged, emptied or rolled any more, and only its " +
				"log says why.",
			Do: "Write minute, hour, day of the month, month and day of the week, in UTC, or one of @hourly, " +
				"@daily, @weekly, @monthly, @yearly.",
			Example: "budget {\n  nodes    = 0\n  schedule = \"0 13 * * mon-fri\"\n  duration = \"10h\"\n}",
		},
		{
			Name: "duplicate-taint", Title: "Taint given twice", Fatal: true, pool: taintsTwice,
			What: "A key and effect is among the taints and the startup taints, or twice among one of them.",
			Why:  "Karpenter checks this at run time only, and does not use such a pool: it stays not ready.",
			Do:   "Keep one of them. A taint that something takes off a new node belongs into startup_taints.",
		},
		{
			Name: "values-without-effect", Title: "Values without effect", Fatal: true, pool: operatorValues,
			What: "A requirement with Exists or DoesNotExist has values.",
			Why:  "They are ignored without a word, so that the pool allows more, or less, than it says.",
			Do:   "Write In for one of the values, NotIn for any other; or take the values out.",
		},
		{
			Name: "unknown-plan-label", Title: "Unknown label of plans", Fatal: true, pool: planLabels,
			What: "A label in the domain " + domain + " is none that plans have.",
			Why: "The domain is the provider's own. Karpenter takes only the labels that it knows there, and does " +
				"not use the pool.",
			Do: "Correct the label, or use the short names of requirements: cpu, memory, class and so on. For a " +
				"label of your own, use a domain of your own.",
		},
		{
			Name: "negative-limit", Title: "Negative amount", Fatal: true, pool: negativeLimits,
			What: "A limit of a pool is below zero.",
			Why:  "The CRD allows a sign. No node fits in such a limit, so none is ever made.",
			Do:   "Write the amount without the sign, or leave the limit out.",
		},
		{
			Name: "capacity-type", Title: "Unknown capacity type", Fatal: true, pool: capacityTypes,
			What: "A pool asks for another capacity type than on-demand.",
			Why: "Linode has no spot market and no reservations. Karpenter does not use a pool whose capacity " +
				"types it does not know, and finds nothing for one that asks for spot.",
			Do: "Leave capacity_type out: every compiled pool asks for on-demand.",
		},
		{
			Name: "bad-label", Title: "Invalid label", Fatal: true, pool: labelSyntax,
			What: "A label, an annotation, a taint or the value of a requirement is not what Kubernetes takes.",
			Why: "The CRD of NodePool does not check everything: the part of a key behind its prefix has 63 " +
				"characters at most, and values of " +
				"requirements and taints are values of labels. Karpenter does not use the pool, or no Node can be " +
				"made of it.",
			Do: "Shorten it, and use letters, digits, dashes, underscores and dots.",
		},
		{
			Name: "other-node-class", Title: "Not a node class of LKE", Fatal: true, pool: otherNodeClass,
			What: "A pool refers to a node class of another provider.",
			Why: "The controller makes nodes of LinodeNodeClasses only, and pools of others are ignored, without " +
				"a condition that says so.",
			Do: "Refer to a node_class block, or to a class by { kind = \"LinodeNodeClass\", name = \"NAME\" }.",
		},
		{
			Name: "overlay-refused", Title: "Overlay that Karpenter refuses", Fatal: true, find: overlays,
			What: "A NodeOverlay passes its CRD, and not Karpenter's own check.",
			Why:  "It is then not applied, as its condition says.",
			Do:   "Do as the message says.",
		},
		{
			Name: "unknown-region", Title: "Unknown region", Fatal: true, find: region,
			What: "The cluster block names a region that Linode does not have.",
			Why:  "No plan is sold there, so nothing can be checked and nothing can be made.",
			Do: "Correct the region. If it is new, refresh the catalogue: lkeplan catalog refresh FILE, then " +
				"--catalog FILE.",
		},
		{
			Name: "tier-not-in-region", Title: "Tier not available in the region", Catalog: true, find: tier,
			What: "The region has no LKE clusters of the tier.",
			Why:  "Some regions have LKE, and not LKE Enterprise.",
			Do:   "Choose one of the regions that the message lists, or the standard tier.",
		},
		{
			Name: "class-refused", Title: "Node class that LKE refuses", Fatal: true, find: classes,
			What: "LKE would refuse node pools of a node class.",
			Why: "Linode takes tags of 3 to 50 characters, and a firewall and a version for each pool only on LKE " +
				"Enterprise. The class would not become ready.",
			Do: "Do as the message says.",
		},
		{
			Name: "label-refused", Title: "Label that LKE refuses", Fatal: true, pool: poolLabels,
			What: "A label or taint of a pool's nodes is one that LKE does not take.",
			Why: "Labels and taints are set on the LKE node pool, so that nodes have them from the start. LKE " +
				"takes keys of 128 characters with their prefix, " +
				"62 behind it. Keys of kubernetes.io and linode.com are not sent: Karpenter puts them on the node.",
			Do: "Shorten it.",
		},
		{
			Name: "too-many-nodes", Title: "More nodes than LKE allows", Fatal: true, find: counts,
			What: "Static pools want more nodes than a cluster has room for.",
			Why:  "A standard LKE cluster has 250 nodes at most; a pool of LKE Enterprise has 500.",
			Do:   "Ask for fewer or larger nodes, or divide them among clusters.",
		},
		{
			Name: "pool-refused", Title: "Pool that Karpenter refuses", Fatal: true, pool: theRest,
			What: "A NodePool passes its CRD, and not Karpenter's own check.",
			Why:  "It is then not used: its condition ValidationSucceeded is false, and it gets no nodes.",
			Do:   "Do as the message says.",
		},
	}
}

const domain = "karpenter.k8s.linode"
