package schemas

// Overlay is a Karpenter NodeOverlay: https://karpenter.sh/docs/concepts/nodeoverlays/.
var Overlay = Block{
	Type:   "overlay",
	Labels: []string{"name"},
	Doc: "Overrides the prices or resources of plan types for Karpenter. Compiles to a NodeOverlay, which " +
		"requires Karpenter's feature gate NodeOverlay.",
	Object: &Object{APIVersion: "karpenter.sh/v1alpha1", Kind: "NodeOverlay"},
	Args: []Arg{
		objectName,
		{Name: "requirements", Path: "spec.requirements", Kind: Selector, Required: true,
			Doc: "The plan types and pools that the overlay applies to, in the syntax of a pool's requirements. " +
				"An empty map selects all."},
		{Name: "price", Path: "spec.price", Kind: String, Numeric: true,
			Doc: `The hourly price of a machine, instead of the real one, such as "0.25". Conflicts with ` +
				`price_adjustment.`},
		{Name: "price_adjustment", Path: "spec.priceAdjustment", Kind: String,
			Doc: `An amount or percentage to add to the real price, always with a sign: "-10%" or "+0.05".`},
		{Name: "capacity", Path: "spec.capacity", Kind: Quantities,
			Doc: `Additional resources of the nodes, such as { "smarter-devices/fuse" = 1 }. It cannot contain ` +
				`cpu, memory, ephemeral-storage or pods.`},
		{Name: "weight", Path: "spec.weight", Kind: Number, Default: "0",
			Doc: "The priority among overlays for the same plan type, 1 to 10000. The overlay with the highest " +
				"weight is used."},
		forEach, enabled, manifest,
	},
	Blocks: []Block{Metadata},
}
