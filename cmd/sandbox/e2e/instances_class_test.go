package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestTheGuidesClassesWorkInInstanceMode: the samples of the existing provider are applied as
// they are, with both served versions, and what they say is seen at the Linodes.
func TestTheGuidesClassesWorkInInstanceMode(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance")
	s.installCRDs()
	s.furnish(sim.AssetSet{Users: []string{"my-user"}})
	s.startController()
	s.kube(strings.ReplaceAll(file(t, "guide-instance.yaml"), "VERSION", "v1alpha1"), "apply", "-f", "-")
	s.kube(strings.ReplaceAll(file(t, "guide-instance.yaml"), "VERSION", "v1"), "apply", "-f", "-")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(5)
	before := s.until("5 pods run", time.Minute, func(s state) bool { return s.running == 5 && s.joined() })
	if l := s.linodeFor(before.claims[0]); l.Image != "linode/ubuntu22.04" || l.BackupsEnabled {
		t.Errorf("it is made as %+v", l)
	}
	s.merge("nodepool", "default",
		`{"spec":{"template":{"spec":{"nodeClassRef":{"name":"custom-instance"}}},"disruption":{"budgets":[{"nodes":"100%"}]}}}`)
	after := s.until("nodes of the other class have replaced the first", 4*time.Minute, func(now state) bool {
		return now.running == 5 && now.joined() && len(now.claims) > 0 && !slices.ContainsFunc(now.claims,
			func(nc karpv1.NodeClaim) bool { return nc.Spec.NodeClassRef.Name != "custom-instance" })
	})
	got := s.linodeFor(after.claims[0])
	said := sim.Linode{
		Image: got.Image, AuthorizedUsers: got.AuthorizedUsers, BackupsEnabled: got.BackupsEnabled, SwapSize: got.SwapSize,
		DiskEncryption: got.DiskEncryption,
	}
	want := sim.Linode{
		Image: "linode/ubuntu22.04", AuthorizedUsers: []string{"my-user"}, BackupsEnabled: true, SwapSize: 512,
		DiskEncryption: "enabled",
	}
	if diff := cmp.Diff(want, said); diff != "" || !slices.Contains(got.Tags, "custom-workload") {
		t.Errorf("tags %v; (-want +got):\n%s", got.Tags, diff)
	}
}

// TestEachFieldOfAClassIsSeenAtItsLinode: and a placement group, which takes five Linodes, has
// the sixth wait with a reason until it has room.
func TestEachFieldOfAClassIsSeenAtItsLinode(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance")
	s.installCRDs()
	s.furnish(sim.AssetSet{
		Images:    []sim.Image{{ID: "private/7", Label: "golden"}},
		Firewalls: []sim.Firewall{{ID: 11, Label: "nodes"}, {ID: 12, Label: "others"}},
		VPCs: []sim.VPC{
			{ID: 21, Label: "main", Region: "us-sea", Subnets: []sim.Subnet{{ID: 31, Label: "workers"}}},
			{ID: 22, Label: "main", Region: "us-ord", Subnets: []sim.Subnet{
				{ID: 32, Label: "workers", IPv4: "10.0.1.0/24"}, {ID: 33, Label: "others", IPv4: "10.0.2.0/24"},
			}},
		},
		Groups: []sim.Placement{{ID: 41, Label: "spread", Region: "us-ord"}, {ID: 42, Label: "spread", Region: "us-sea"}},
		Users:  []string{"ada"},
	})
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/furnished")
	s.kube(strings.Replace(file(t, "inflate.yaml"), "      terminationGracePeriodSeconds",
		"      tolerations: [{key: example.com/own, operator: Exists}]\n      "+
			"terminationGracePeriodSeconds", 1), "apply", "-f", "-")
	s.scale(1)
	now := s.until("a pod runs", time.Minute, func(s state) bool { return s.running == 1 && s.joined() })
	s.looksFurnished(s.linodeFor(now.claims[0]))
	s.nodeIsAsItsClassSays(now.nodes[0])

	s.scale(6) // a node has 1.7 CPUs for pods
	s.until("five Linodes are in the group, and a pod waits", 2*time.Minute, func(now state) bool {
		return now.running == 5 && now.pending == 1 && now.joined() && len(now.nodes) == 5
	})
	s.eventually("it is said why", time.Minute, func() error {
		if s.told("Pod", "PlacementGroupFull", "NodePool all: placement group 41 is full: it has the maximum of 5 Linodes") {
			return nil
		}
		return fmt.Errorf("no event tells of the placement group:\n%s", s.kube("", "get", "events", "-A"))
	})
	s.scale(5)
	s.until("nothing waits", time.Minute, func(now state) bool { return now.pending == 0 && now.joined() })
	if made := s.linodes(); len(made) != 5 {
		t.Errorf("%d Linodes are there", len(made))
	}
}

// looksFurnished compares what a Linode has with what its class says.
func (s *sandbox) looksFurnished(got sim.Linode) {
	s.t.Helper()
	seen := sim.Linode{
		Image: got.Image, FirewallID: got.FirewallID, GroupID: got.GroupID, AuthorizedKeys: got.AuthorizedKeys,
		AuthorizedUsers: got.AuthorizedUsers, BackupsEnabled: got.BackupsEnabled, SwapSize: got.SwapSize,
		BootSize: got.BootSize, Kernel: got.Kernel, DiskEncryption: got.DiskEncryption,
	}
	want := sim.Linode{
		Image: "private/7", FirewallID: 11, GroupID: 41,
		AuthorizedKeys:  []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGzDqO0c ada@laptop"},
		AuthorizedUsers: []string{"ada"}, BackupsEnabled: true, SwapSize: 256, BootSize: 20480, Kernel: "linode/grub2",
		DiskEncryption: "disabled",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		s.t.Errorf("(-want +got):\n%s", diff)
	}
	if len(got.Interfaces) != 1 || got.Interfaces[0].SubnetID == nil || *got.Interfaces[0].SubnetID != 32 {
		s.t.Errorf("its interfaces are %+v", got.Interfaces)
	}
	if !slices.Contains(got.Tags, "team=web") || !strings.Contains(string(got.UserData), "k3s") {
		s.t.Errorf("its tags are %v; it reads %s", got.Tags, got.UserData)
	}
}

// nodeIsAsItsClassSays checks the kubelet's flags.
func (s *sandbox) nodeIsAsItsClassSays(n corev1.Node) {
	s.t.Helper()
	kept := n.Status.Capacity.Cpu().MilliValue() - n.Status.Allocatable.Cpu().MilliValue()
	if n.Status.Allocatable.Pods().Value() != 40 || kept != 300 || n.Labels["example.com/team"] != "web" ||
		!tainted(n.Spec.Taints, "example.com/own") {
		s.t.Errorf("it allows %v of %v; labels %v, taints %v", n.Status.Allocatable, n.Status.Capacity, n.Labels, n.Spec.Taints)
	}
}
