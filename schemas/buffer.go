package schemas

// Buffer is a CapacityBuffer of the autoscaling API, which Karpenter serves.
var Buffer = Block{
	Type:   "buffer",
	Labels: []string{"name"},
	Doc: "Room that is kept free for pods to come, so that they need not wait for nodes. Compiles to a " +
		"CapacityBuffer, which needs Karpenter's feature gate CapacityBuffer.",
	Object: &Object{APIVersion: "autoscaling.x-k8s.io/v1beta1", Kind: "CapacityBuffer"},
	Args: []Arg{
		objectName,
		{Name: "namespace", Path: "metadata.namespace", Kind: String, Required: true,
			Doc: "The namespace of the buffer and of what it refers to."},
		{Name: "pod_template", Path: "spec.podTemplateRef.name", Kind: String,
			Doc: "The name of the PodTemplate that says what a pod needs for which room is kept. Not together with " +
				"scalable."},
		{Name: "replicas", Path: "spec.replicas", Kind: Number, Doc: "For how many such pods room is kept."},
		{Name: "percentage", Path: "spec.percentage", Kind: Number,
			Doc: "For what share of the replicas of scalable room is kept, in percent. With replicas too, the " +
				"larger number counts."},
		{Name: "limits", Path: "spec.limits", Kind: Quantities, Keys: podResources, Default: "no limit",
			Doc: `What the buffer holds in sum at most, such as { cpu = 8, memory = "32Gi" }.`},
		{Name: "provisioning_strategy", Path: "spec.provisioningStrategy", Kind: String,
			Default: "buffer.x-k8s.io/active-capacity", Doc: "How the room is kept. Karpenter knows only the default."},
		forEach, enabled, manifest,
	},
	Blocks: []Block{scalable, Metadata},
}

var scalable = Block{
	Type: "scalable",
	Path: "spec.scalableRef",
	Doc:  "The workload whose pods say what a pod needs for which room is kept.",
	Args: []Arg{
		{Name: "api_group", Path: "apiGroup", Kind: String, Default: "the core group",
			Doc: `The API group, such as "apps".`},
		{Name: "kind", Path: "kind", Kind: String, Required: true,
			Doc: `The kind: "Deployment", "StatefulSet" or "ReplicaSet".`},
		{Name: "name", Path: "name", Kind: String, Required: true, Doc: "Its name."},
	},
}
