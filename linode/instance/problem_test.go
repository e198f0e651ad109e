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
		{`{image: a, swapSize: 512, kubelet: {failSwapOn: true}}`, "spec.swapSize: no kubelet starts while swap is on if failSwapOn"},
		{`{image: a, swap_size: 1, kubelet: {failSwapOn: true}}`, "spec.swap_size: no kubelet starts while swap is on if failSwapOn"},
		{`{image: a, swap_size: 512, kubelet: {failSwapOn: true}, bootstrap: {kind: custom, userDataSecret: s}}`,
			"spec.swap_size: no kubelet starts"},
		{`{image: a, swap_size: 512, kubelet: {failSwapOn: true}, bootstrap: {kind: k3s}}`, "spec.swap_size: no kubelet starts"},
		{`{image: a, swapSize: 512, swap_size: 0}`, "spec.swapSize: spec.swap_size, which is the same, says something else"},
		{`{image: a, swap_size: -5}`, "spec.swap_size: it is less than 0"},
		{`{image: a, firewallID: 0}`, "spec.firewallID: it is no number"},
		{`{image: a, vpcID: 0, subnetID: 0}`, "spec.vpcID: it is no number"},
		{`{image: a, kubelet: {maxPods: 0}}`, "spec.kubelet.maxPods: a node without pods is none"},
		{`{image: a, kubelet: {evictionHard: {memory.available: lots}, clusterDNS: ["x; y"]}}`,
			`spec.kubelet.clusterDNS: "x; y" is no IP address; spec.kubelet.evictionHard: `},
		{`{image: a, kubelet: {evictionHard: {memory.available: "0"}}}`, `spec.kubelet.evictionHard: "memory.available": "0"`},
		{`{image: a, kubelet: {evictionHard: {memory.available: 0%}}}`, ""},
		{`{image: a, kubelet: {kubeReserved: {memory: "0"}}}`, ""},
		{`{}`, "spec.image: say what the machine boots"},
		{`{image: a, select: {image: b}}`, "spec.image: spec.select names one, too"},
		{`{image: a, firewallID: 1, select: {firewall: b}}`, "spec.firewallID: spec.select names one, too"},
		{`{image: a, vpcID: 1, subnetID: 1, select: {vpc: b}}`, "spec.vpcID: spec.select names one, too"},
		{`{image: a, placementGroup: {id: 1}, select: {placementGroup: b}}`, "spec.placementGroup: spec.select names one"},
		{`{image: a, placementGroup: {compliant_only: true}, select: {placementGroup: b}}`, ""},
		{`{image: a, placementGroup: {compliant_only: true}}`, "spec.placementGroup: say which one"},
		{`{image: a, placementGroup: {perPool: {policy: strict}}}`, ""},
		{`{image: a, placementGroup: {perPool: {policy: flexible}, compliant_only: true}}`, ""},
		{`{image: a, placementGroup: {id: 1, perPool: {policy: strict}}}`, "spec.placementGroup: perPool asks for groups besides"},
		{
			`{image: a, placementGroup: {perPool: {policy: strict}}, select: {placementGroup: b}}`,
			"spec.placementGroup: spec.select names one",
		},
		{`{image: a, vpcID: 1}`, "spec.subnetID: the machine is to be in a VPC"},
		{`{image: a, subnetID: 1}`, "spec.vpcID: a subnet is named"},
		{`{image: a, ipv6Options: {enableSLAAC: true}}`, "spec.ipv6Options: it is about addresses in a VPC"},
		{`{image: a, lkeK8sVersion: "1.33"}`, "spec.lkeK8sVersion: it has no effect"},
		{`{image: a, dataDisks: {sdc: {size: 1Gi}}}`, "spec.dataDisks.sdc: Linodes are made with one disk"},
		{`{image: a, osDisk: {size: 20Gi, label: x}}`, "spec.osDisk: only its size has an effect"},
		{`{image: a, osDisk: {size: "0"}}`, "spec.osDisk.size: 0 is no size"},
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
