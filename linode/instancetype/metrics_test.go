package instancetype

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TestOfferingsAreMetrics: with their price, and unavailable for as long as LKE has none.
func TestOfferingsAreMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		types := typesIn(t, "us-ord")
		registry := prometheus.NewRegistry()
		registry.MustRegister(types)
		const plan = "g6-standard-4"
		value := func(name string) float64 { return offering(t, registry, name, plan) }
		if got := value("offering_price_estimate"); got != 0.072 {
			t.Errorf("a node of %s costs %v", plan, got)
		}
		if cpu := value("cpu_cores"); cpu != 2 && cpu != 4 {
			t.Errorf("%s has %v CPUs", plan, cpu)
		}
		if memory := value("memory_bytes"); memory < 7<<30 {
			t.Errorf("%s has %v bytes of memory", plan, memory)
		}
		types.Block(plan, time.Now().Add(time.Minute))
		if value("offering_available") != 0 {
			t.Error("a blocked plan type is available")
		}
		time.Sleep(time.Minute)
		if value("offering_available") != 1 {
			t.Error("a plan type is unavailable after its block")
		}
	})
}

func offering(t *testing.T, from prometheus.Gatherer, name, plan string) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() != "karpenter_cloudprovider_instance_type_"+name {
				continue
			}
			for _, label := range m.GetLabel() {
				if label.GetName() == "instance_type" && label.GetValue() == plan {
					return m.GetGauge().GetValue()
				}
			}
		}
	}
	t.Fatalf("no %s of %s", name, plan)
	return 0
}
