package schemas

// During is the type of the blocks that replace arguments of an object at recurring times.
const During = "during"

// DuringPath is the path of the during blocks in a decoded object, before they become the annotation.
const DuringPath = "during"

// during is the table of the during blocks of an object. Each argument replaces the argument of the same name as a
// whole. None of them may replace a node through the hash or the requirements of a pool.
func during(doc string, args []Arg, blocks ...Block) Block {
	return Block{
		Type:   During,
		Labels: []string{"name"},
		Path:   DuringPath,
		Doc:    doc,
		Args: append([]Arg{
			{Name: "schedule", Path: "schedule", Kind: String, Required: true,
				Doc: `When the period starts, in cron notation, such as "0 20 * * mon-fri".`},
			{Name: "duration", Path: "duration", Kind: Duration, Required: true,
				Doc: `How long the period lasts, in hours and minutes such as "10h". It is elapsed time: if the clock changes ` +
					"in the period, the period ends an hour earlier or later on the clock."},
			{Name: "time_zone", Path: "timeZone", Kind: String, NotNull: true, Default: "UTC",
				Doc: `The time zone of schedule, such as "Europe/Berlin". If the clock skips the start time, the period starts ` +
					"when the clock changes. If the clock repeats the start time, the period starts at the first of the two times."},
		}, args...),
		Blocks: blocks,
	}
}

var poolDuring = during("Different values of some arguments at recurring times. Only a NodePlan switches between the "+
	"values; `lkeplan apply` sets the current ones. The values replace no nodes: arguments such as labels and "+
	"requirements are not possible. Guards, freezes and windows evaluate a during block when its commit is applied, "+
	"as if its values applied permanently from then on. Two during blocks that set the same argument must not "+
	"overlap. For the maximum cost, diff uses the most expensive values, and for the minimum cost the cheapest "+
	"values. An object can have 6 during blocks.",
	[]Arg{
		{Name: "limits", Path: "spec.limits", Kind: Quantities, Keys: nodeResources,
			Doc: "All limits of the pool, such as { cpu = 0 }: no new nodes. Existing nodes stay."},
		{Name: "weight", Path: "spec.weight", Kind: Number, Doc: "The weight of the pool."},
		{Name: "replicas", Path: "spec.replicas", Kind: Number,
			Doc: "The number of nodes of the pool. The pool must set replicas, too: it cannot switch between a fixed " +
				"number and scaling with pods. If it is lower, Karpenter deletes nodes immediately, regardless of budgets."},
	},
	Block{
		Type: "disruption",
		Path: "spec.disruption",
		Doc:  "Disruption settings of the pool. If a setting is omitted, the setting of the pool applies.",
		Args: []Arg{
			{Name: "policy", Path: "consolidationPolicy", Kind: String, Doc: "Which nodes can be consolidated."},
			{Name: "consolidate_after", Path: "consolidateAfter", Kind: Duration,
				Doc: `How long a node must be without new or removed pods before it can be consolidated, or "Never".`},
		},
		Blocks: []Block{budgetOf("The number of nodes that can be disrupted at the same time. If there are any budgets " +
			"here, the budgets of the pool do not apply.")},
	})

var bufferDuring = during("A different size of the buffer at recurring times. Only a NodePlan switches between the sizes; "+
	"`lkeplan apply` sets the current one. Guards, freezes and windows evaluate a during block when its commit is "+
	"applied, as if its values applied permanently from then on. Two during blocks that set the same argument must "+
	"not overlap. A buffer can have 6 during blocks.",
	[]Arg{
		{Name: "replicas", Path: "spec.replicas", Kind: Number, Doc: "The number of pods to reserve capacity for."},
		{Name: "percentage", Path: "spec.percentage", Kind: Number,
			Doc: "The percentage of the replicas of scalable to reserve capacity for."},
		{Name: "limits", Path: "spec.limits", Kind: Quantities, Keys: podResources,
			Doc: "All limits of the buffer."},
	})

func budgetOf(doc string) Block {
	b := Budget
	b.Doc = doc
	return b
}

// Durings returns the table of the during blocks of a block type; false if it has none.
func Durings(blockType string) (Block, bool) {
	for _, block := range []Block{Pool, Buffer} {
		for _, nested := range block.Blocks {
			if block.Type == blockType && nested.Type == During {
				return nested, true
			}
		}
	}
	return Block{}, false
}
