package linode

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/v1alpha1"
)

func typesIn(t *testing.T, region string) *InstanceTypes {
	t.Helper()
	Register()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return NewInstanceTypes(facts, region, catalog.Standard)
}

func byName(t *testing.T, types *InstanceTypes, name string) *cloudprovider.InstanceType {
	t.Helper()
	for _, it := range types.List() {
		if it.Name == name {
			return it
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

func TestEveryTypeSaysAllThatTheCoreAsks(t *testing.T) {
	for _, it := range typesIn(t, "us-ord").List() {
		for key := range karpv1.WellKnownLabels {
			if key != karpv1.NodePoolLabelKey && !it.Requirements.Has(key) {
				t.Errorf("%s says nothing of %s", it.Name, key)
			}
		}
		for _, o := range it.Offerings {
			if o.Zone() != "us-ord" || o.CapacityType() != karpv1.CapacityTypeOnDemand || o.Price <= 0 {
				t.Errorf("%s is offered in zone %s as %s for %v", it.Name, o.Zone(), o.CapacityType(), o.Price)
			}
		}
		if a := it.Allocatable(); a.Cpu().IsZero() || a.Memory().Sign() <= 0 || a.StorageEphemeral().Sign() <= 0 || a.Pods().Value() != 110 {
			t.Errorf("%s has %v", it.Name, a)
		}
	}
}

// TestAllocatableIsNotMoreThanNodesReport: of the two plans whose nodes were
// recorded (lke-nodes.json), in KiB.
func TestAllocatableIsNotMoreThanNodesReport(t *testing.T) {
	for plan, recorded := range map[string]int64{"g6-standard-1": 1924896, "g6-standard-2": 3919624} {
		allocatable := byName(t, typesIn(t, "us-ord"), plan).Allocatable()
		got := allocatable.Memory().Value() / 1024
		if got > recorded || got < recorded*96/100 {
			t.Errorf("%s: %d KiB of memory, and a node has %d", plan, got, recorded)
		}
	}
}

func TestRegionsHaveTheirOwnPrices(t *testing.T) {
	for region, want := range map[string]float64{"us-ord": 0.036, "id-cgk": 0.043, "br-gru": 0.05} {
		if got := byName(t, typesIn(t, region), "g6-standard-2").Offerings[0].Price; got != want {
			t.Errorf("g6-standard-2 in %s costs %v, want %v", region, got, want)
		}
	}
}

func TestGPUPlansHaveGPUs(t *testing.T) {
	it := byName(t, typesIn(t, "us-ord"), "g1-gpu-rtx6000-2")
	gpus := it.Capacity[resourceGPU]
	if gpus.Value() != 2 || it.Requirements.Get(v1alpha1.LabelInstanceGPUCount).Any() != "2" || it.Requirements.Get(v1alpha1.LabelInstanceGPUName).Any() == "" {
		t.Errorf("capacity %v, requirements %v", it.Capacity, it.Requirements)
	}
	if byName(t, typesIn(t, "us-ord"), "g6-standard-2").Requirements.Get(v1alpha1.LabelInstanceGPUCount).Operator() != corev1.NodeSelectorOpDoesNotExist {
		t.Error("a plan without GPUs may have some")
	}
}

func TestABlockedPlanComesBackAndOthersKeepTheirPointer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		types := typesIn(t, "us-ord")
		other, plan := byName(t, types, "g6-standard-6"), byName(t, types, "g6-standard-4")
		types.Block("g6-standard-4", time.Now().Add(3*time.Minute))
		if len(byName(t, types, "g6-standard-4").Offerings.Available()) != 0 {
			t.Error("a blocked plan is offered")
		}
		if len(plan.Offerings.Available()) != 1 {
			t.Error("a type that the core may hold was changed")
		}
		if byName(t, types, "g6-standard-6") != other {
			t.Error("another plan got a new pointer")
		}
		time.Sleep(3 * time.Minute)
		if len(byName(t, types, "g6-standard-4").Offerings.Available()) != 1 {
			t.Error("the plan does not come back")
		}
	})
}
