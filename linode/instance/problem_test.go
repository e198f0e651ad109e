package instance

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestProblem: what would silently have no effect, or says two things, is no class.
func TestProblem(t *testing.T) {
	for _, tc := range []struct{ spec, want string }{
		{`{image: linode/debian12}`, ""},
		{`{select: {image: golden}}`, ""},
		{`{image: a, vpcID: 1, subnetID: 2, ipv6Options: {enableSLAAC: true}}`, ""},
		{`{image: a, select: {vpc: a, subnet: b, firewall: c, placementGroup: d}}`, ""},
		{`{image: a, vpcID: 1, select: {subnet: b}}`, ""},
		{`{image: a, osDisk: {size: 20Gi}, swap_size: 0, backupsEnabled: true, configuration: {kernel: k}}`, ""},
		{`{image: a, swap_size: 512, kubelet: {failSwapOn: false}}`, ""},
		{`{image: a, swapSize: 512, swap_size: 512, kubelet: {failSwapOn: false}}`, ""},
		{`{image: a, swapSize: 512, bootstrap: {kind: k3s}}`, ""},
		{`{image: a, swapSize: 512, bootstrap: {kind: custom, userDataSecret: s}}`, ""},
		{`{image: a, kubelet: {failSwapOn: true}}`, ""},
		{`{image: a, swap_size: 0, kubelet: {failSwapOn: true}}`, ""},
		{`{image: a, kubelet: {failSwapOn: false}}`, ""}, // the image may have a swap file
		{`{image: a, swapSize: 512}`, ""},                // the cluster's kubelet-config may allow it
		{`{image: a, swap_size: 512, kubelet: {maxPods: 50}}`, ""},
		{`{image: a, swapSize: 512, kubelet: {failSwapOn: true}}`, "spec.swapSize: the kubelet does not start with swap " +
			"if failSwapOn"},
		{`{image: a, swap_size: 1, kubelet: {failSwapOn: true}}`, "spec.swap_size: the kubelet does not start with swap " +
			"if failSwapOn"},
		{`{image: a, swap_size: 512, kubelet: {failSwapOn: true}, bootstrap: {kind: custom, userDataSecret: s}}`,
			"spec.swap_size: the kubelet does not start"},
		{`{image: a, swap_size: 512, kubelet: {failSwapOn: true}, bootstrap: {kind: k3s}}`, "spec.swap_size: the kubelet " +
			"does not start"},
		{`{image: a, swapSize: 512, swap_size: 0}`, "spec.swapSize: it differs from spec.swap_size"},
		{`{image: a, swap_size: -5}`, "spec.swap_size: it is less than 0"},
		{`{image: a, firewallID: 0}`, "spec.firewallID: it is not the ID"},
		{`{image: a, vpcID: 0, subnetID: 0}`, "spec.vpcID: it is not the ID"},
		{`{image: a, kubelet: {maxPods: 0}}`, "spec.kubelet.maxPods: must be at least 1"},
		{`{image: a, kubelet: {evictionHard: {memory.available: lots}, clusterDNS: ["x; y"]}}`,
			`spec.kubelet.clusterDNS: "x; y" is not an IP address; spec.kubelet.evictionHard: `},
		{`{image: a, kubelet: {evictionHard: {memory.available: "0"}}}`, `spec.kubelet.evictionHard: "memory.available": "0"`},
		{`{image: a, kubelet: {evictionHard: {memory.available: 0%}}}`, ""},
		{`{image: a, kubelet: {kubeReserved: {memory: "0"}}}`, ""},
		{`{}`, "spec.image: in instance mode, a node class needs an image"},
		{`{image: a, select: {image: b}}`, "spec.image: spec.select also selects one"},
		{`{image: a, firewallID: 1, select: {firewall: b}}`, "spec.firewallID: spec.select also selects one"},
		{`{image: a, vpcID: 1, subnetID: 1, select: {vpc: b}}`, "spec.vpcID: spec.select also selects one"},
		{`{image: a, placementGroup: {id: 1}, select: {placementGroup: b}}`, "spec.placementGroup: spec.select also " +
			"selects one"},
		{`{image: a, placementGroup: {compliant_only: true}, select: {placementGroup: b}}`, ""},
		{`{image: a, placementGroup: {compliant_only: true}}`, "spec.placementGroup: no group is set"},
		{`{image: a, placementGroup: {perPool: {policy: strict}}}`, ""},
		{`{image: a, placementGroup: {perPool: {policy: flexible}, compliant_only: true}}`, ""},
		{`{image: a, placementGroup: {id: 1, perPool: {policy: strict}}}`, "spec.placementGroup: id and perPool exclude " +
			"each other"},
		{
			`{image: a, placementGroup: {perPool: {policy: strict}}, select: {placementGroup: b}}`,
			"spec.placementGroup: spec.select also selects one",
		},
		{`{image: a, vpcID: 1}`, "spec.subnetID: a VPC is set without a subnet"},
		{`{image: a, subnetID: 1}`, "spec.vpcID: a subnet is set"},
		{`{image: a, ipv6Options: {enableSLAAC: true}}`, "spec.ipv6Options: the options apply only to addresses in a VPC"},
		{`{image: a, lkeK8sVersion: "1.33"}`, "spec.lkeK8sVersion: the version has no effect"},
		{`{image: a, dataDisks: {sdc: {size: 1Gi}}}`, "spec.dataDisks.sdc: Linodes are created with one disk"},
		{`{image: a, osDisk: {size: 20Gi, label: x}}`, "spec.osDisk: only its size has an effect"},
		{`{image: a, osDisk: {size: "0"}}`, "spec.osDisk.size: 0 is not a disk size"},
		{`{image: a, tags: [ab]}`, `spec.tags: "ab" has 2 characters`},
		{`{image: a, tags: [Lkeplan-ID=5]}`, "is one of lkeplan's own tags"},
		{`{image: a, tags: [lkeplan-cluster=x]}`, "is one of lkeplan's own tags"},
	} {
		var spec linodev1alpha1.LinodeNodeClassSpec
		if err := yaml.UnmarshalStrict([]byte(tc.spec), &spec); err != nil {
			t.Fatal(tc.spec, err)
		}
		if got := Problem(spec); got != tc.want && (tc.want == "" || !strings.Contains(got, tc.want)) {
			t.Errorf("%s: %q, want %q", tc.spec, got, tc.want)
		}
	}
}

// TestTheLongestNameFitsIntoATag: schemas.WrongInstanceName takes names of 34 characters.
func TestTheLongestNameFitsIntoATag(t *testing.T) {
	longest := strings.Repeat("a", 34)
	if schemas.WrongInstanceName(longest) != "" || schemas.WrongInstanceName(longest+"a") == "" {
		t.Error("another number of characters is taken")
	}
	a, b := Identity{Name: "prod", uid: "1"}, Identity{Name: "prod", uid: "2"}
	if a.Tag() == b.Tag() || len(a.Tag()) > 50 || len((Identity{Name: longest}).NameTag()) != 50 {
		t.Errorf("tags %s and %s", a.Tag(), b.Tag())
	}
}
