package schemas

import "testing"

func TestWrittenNamesFieldsAsInHCL(t *testing.T) {
	for _, test := range []struct{ block, path, want string }{
		{"pool", "spec.template.spec.requirements[karpenter.k8s.linode/instance-class]", "requirements.class"},
		{"pool", "spec.template.spec.requirements[example.com/team]", "requirements[example.com/team]"},
		{"pool", "spec.template.spec.nodeClassRef.name", "node_class"},
		{"pool", "spec.template.spec.nodeClassRef.group", "node_class.group"},
		{"pool", "spec.template.spec.expireAfter", "expire_after"},
		{"pool", "spec.template.spec.startupTaints[a.io/b:NoSchedule]", "startup_taints[a.io/b:NoSchedule]"},
		{"pool", "spec.template.metadata.labels.team", "labels.team"},
		{"pool", "metadata.labels.team", "metadata.labels.team"},
		{"pool", "spec.limits.cpu", "limits.cpu"},
		{"pool", "spec.disruption.consolidationPolicy", "disruption.policy"},
		{"pool", "spec.disruption.budgets", "disruption.budget"},
		{"pool", "spec.disruption.future", "disruption.future"},
		{"pool", "spec.template.spec.future", "future"},
		{"pool", "spec.weightier", "weightier"},
		{"node_class", "spec.kubelet.maxPods", "kubelet.max_pods"},
		{"node_class", "spec.placementGroup.perPool.policy", "placement_group.per_pool"},
		{"node_class", "spec.lkeK8sVersion", "kubernetes_version"},
		{"", "spec.weight", "weight"},
		{"nonsense", "", ""},
		{"pool", "", ""},
	} {
		if got := Written(test.block, test.path); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.block, test.path, got, test.want)
		}
	}
}
