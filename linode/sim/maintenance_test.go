package sim

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMachineIsOffDuringMaintenance: its status, its slot and the lease of its Node show it, and the same Node comes back.
// In a live migration the machine runs on.
func TestMachineIsOffDuringMaintenance(t *testing.T) {
	const kubelet = "kubelet"
	tests := map[string]struct {
		work                 Work
		status, slot, holder string // during the work
		vacant               bool
		statusAfter, after   string // and the holder of the lease
	}{
		"reboot": {Work{Type: "reboot"}, "rebooting", "not_ready", off, false, "running", ""},
		"power off": {
			Work{Type: "power_off_on", Vacant: true}, "offline", "not_ready", off, true, "running", "",
		},
		"migration": {Work{Type: "cold_migration"}, "migrating", "not_ready", off, false, "running", ""},
		"live migration": {
			Work{Type: "live_migration"}, "migrating", "ready", kubelet, false, "running", kubelet,
		},
		"it stays off": {Work{Type: "reboot", Stays: true}, "rebooting", "not_ready", off, false, "offline", off},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			play(t, Config{}, func(p *playground) {
				pool := p.makePool(1, nil)
				p.after(time.Second)
				before, id := p.node(), p.Instances()[0].ID
				p.object(&coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: before.Name},
					Spec:       coordinationv1.LeaseSpec{HolderIdentity: new(kubelet)},
				})
				tt.work.Linode, tt.work.Start = id, time.Now().Add(time.Minute)
				tt.work.Off.Duration = 3 * time.Minute
				p.Announce(tt.work)
				p.after(50 * time.Second)
				if status := p.Instances()[0].Status; status != "running" || p.holder(before.Name) != kubelet {
					t.Errorf("before the work the status is %s, and %q holds the lease", status, p.holder(before.Name))
				}
				p.after(time.Minute)
				slot := p.pool(pool.ID).Nodes[0]
				if status := p.Instances()[0].Status; status != tt.status || slot.Status != tt.slot ||
					(slot.InstanceID == nil) != tt.vacant || p.holder(before.Name) != tt.holder {
					t.Errorf("during the work the status is %s, the slot %+v, and %q holds the lease", status, slot,
						p.holder(before.Name))
				}
				p.after(3 * time.Minute)
				if status := p.Instances()[0].Status; status != tt.statusAfter || p.holder(before.Name) != tt.after {
					t.Errorf("after the work the status is %s, and %q holds the lease", status, p.holder(before.Name))
				}
				if after := p.node(); after.UID != before.UID || after.Spec.ProviderID != before.Spec.ProviderID {
					t.Errorf("the Node is another: %+v", after)
				}
			})
		})
	}
}

// holder is the holder of the lease of a Node; "" if there is none.
func (p *playground) holder(node string) string {
	p.Helper()
	lease, err := p.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(p.Context(), node, metav1.GetOptions{})
	if err != nil {
		p.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// TestCanceledMaintenanceDoesNotStart: the machine runs on.
func TestCanceledMaintenanceDoesNotStart(t *testing.T) {
	play(t, Config{}, func(p *playground) {
		p.makePool(1, nil)
		p.after(time.Second)
		id := p.Instances()[0].ID
		work := Work{Linode: id, Type: "reboot", Start: time.Now().Add(time.Minute)}
		work.Off.Duration = time.Hour
		p.Announce(work)
		p.after(time.Second)
		p.Unannounce(id, "canceled")
		p.after(2 * time.Minute)
		if status := p.Instances()[0].Status; status != "running" {
			t.Errorf("the status is %s", status)
		}
	})
}

// TestDeletedNodeComesBackAfterMaintenance: the kubelet starts again, and registers the Node.
func TestDeletedNodeComesBackAfterMaintenance(t *testing.T) {
	works := func(t *testing.T, p *playground, id int) {
		t.Helper()
		p.Announce(Work{Linode: id, Type: "reboot", Start: time.Now(), Off: metav1.Duration{Duration: time.Minute}})
		p.after(time.Second)
		if err := p.client.CoreV1().Nodes().Delete(t.Context(), p.node().Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		p.after(50 * time.Second)
		if n := len(p.nodes()); n != 0 {
			t.Fatalf("a machine that is off has %d Nodes", n)
		}
		p.after(10 * time.Second)
		p.node()
	}
	t.Run("LKE", func(t *testing.T) {
		play(t, Config{}, func(p *playground) {
			p.makePool(1, nil)
			p.after(time.Second)
			works(t, p, p.Instances()[0].ID)
		})
	})
	t.Run("instance mode", func(t *testing.T) {
		playMachines(t, Config{}, func(p *playground) {
			made := p.machine("prod-a")
			p.after(time.Second)
			works(t, p, made.ID)
		})
	})
}

// TestMachineDoesNotJoinDuringMaintenance: it joins after the work.
func TestMachineDoesNotJoinDuringMaintenance(t *testing.T) {
	works := func(t *testing.T, p *playground, id int) {
		t.Helper()
		p.Announce(Work{Linode: id, Type: "reboot", Start: time.Now(), Off: metav1.Duration{Duration: 5 * time.Minute}})
		p.after(4 * time.Minute)
		if n := len(p.nodes()); n != 0 {
			t.Fatalf("a machine that is off has %d Nodes", n)
		}
		p.after(2 * time.Minute)
		p.node()
	}
	t.Run("LKE", func(t *testing.T) {
		play(t, Config{JoinDelay: time.Minute}, func(p *playground) {
			p.makePool(1, nil)
			p.after(time.Second)
			works(t, p, p.Instances()[0].ID)
		})
	})
	t.Run("instance mode", func(t *testing.T) {
		playMachines(t, Config{JoinDelay: time.Minute}, func(p *playground) { works(t, p, p.machine("prod-a").ID) })
	})
}
