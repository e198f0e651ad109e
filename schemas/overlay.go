package schemas

// Overlay is a Karpenter NodeOverlay: https://karpenter.sh/docs/concepts/nodeoverlays/.
var Overlay = Block{
	Type:   "overlay",
	Labels: []string{"name"},
	Doc: "Changes to what Karpenter knows about plans: other prices, further resources. Compiles to a " +
		"NodeOverlay, which needs Karpenter's feature gate NodeOverlay.",
	Object: &Object{APIVersion: "karpenter.sh/v1alpha1", Kind: "NodeOverlay"},
	Args: []Arg{
		objectName,
		{Name: "requirements", Path: "spec.requirements", Kind: Selector, Required: true,
			Doc: "Which plans and pools it is for, written as the requirements of a pool are; an empty map stands " +
				"for all."},
		{Name: "price", Path: "spec.price", Kind: String,
			Doc: `The price of a machine in an hour, instead of the real one: "0.25". Not together with ` +
				`price_adjustment.`},
		{Name: "price_adjustment", Path: "spec.priceAdjustment", Kind: String,
			Doc: `What is added to the real price or taken off it, always with a sign: "-10%" or "+0.05".`},
		{Name: "capacity", Path: "spec.capacity", Kind: Quantities,
			Doc: `Further resources of the nodes, such as { "smarter-devices/fuse" = 1 }; not cpu, memory, ` +
				`ephemeral-storage or pods.`},
		{Name: "weight", Path: "spec.weight", Kind: Number, Default: "0",
			Doc: "Where several say different things about one plan, the one with the most weight counts, 1 to 10000."},
		forEach, enabled, manifest,
	},
	Blocks: []Block{Metadata},
}
