package schemas

// Buffer is a CapacityBuffer of the autoscaling API, which Karpenter implements.
var Buffer = Block{
	Type:   "buffer",
	Labels: []string{"name"},
	Doc:    "Spare capacity for future pods, so they do not wait for nodes. Compiles to a CapacityBuffer.",
	Object: &Object{APIVersion: "autoscaling.x-k8s.io/v1beta1", Kind: "CapacityBuffer"},
	Args: []Arg{
		objectName,
		{Name: "namespace", Path: "metadata.namespace", Kind: String, Required: true,
			Doc: "The namespace of the buffer and of the objects that it refers to."},
		{Name: "pod_template", Path: "spec.podTemplateRef.name", Kind: String,
			Doc: "The name of the PodTemplate whose requests are reserved. Conflicts with scalable."},
		{Name: "replicas", Path: "spec.replicas", Kind: Number, Doc: "The number of pods to reserve capacity for."},
		{Name: "percentage", Path: "spec.percentage", Kind: Number,
			Doc: "The percentage of the replicas of scalable to reserve capacity for. If replicas is also set, " +
				"the larger number is used."},
		{Name: "limits", Path: "spec.limits", Kind: Quantities, Keys: podResources, Default: "no limit",
			Doc: `The maximum resources that the buffer reserves in total, such as { cpu = 8, memory = "32Gi" }.`},
		{Name: "provisioning_strategy", Path: "spec.provisioningStrategy", Kind: String,
			Default: "buffer.x-k8s.io/active-capacity", Doc: "How capacity is reserved. Karpenter ignores " +
				"it: capacity is reserved as with the default."},
		forEach, enabled, manifest,
	},
	Blocks: []Block{scalable, Metadata},
}

var scalable = Block{
	Type: "scalable",
	Path: "spec.scalableRef",
	Doc:  "The workload whose pods' requests are reserved.",
	Args: []Arg{
		{Name: "api_group", Path: "apiGroup", Kind: String, Default: "the core group",
			Doc: `The API group, such as "apps".`},
		{Name: "kind", Path: "kind", Kind: String, Required: true,
			Doc: `The kind: "Deployment", "StatefulSet" or "ReplicaSet".`},
		{Name: "name", Path: "name", Kind: String, Required: true, Doc: "The name of the workload."},
	},
}
