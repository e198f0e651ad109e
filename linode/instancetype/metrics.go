package instancetype

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// The names are those that Karpenter's providers have in common, so that dashboards for other providers show LKE as
// well.
var (
	ofOffering = []string{"instance_type", "capacity_type", "region", "zone"}

	priceDesc = prometheus.NewDesc("karpenter_cloudprovider_instance_type_offering_price_estimate",
		"Hourly price of a node of the plan type, in US dollars.", ofOffering, nil)
	availableDesc = prometheus.NewDesc("karpenter_cloudprovider_instance_type_offering_available",
		"1 if the region sells the plan type and LKE has not refused it in the last minutes.", ofOffering, nil)
	cpuDesc = prometheus.NewDesc("karpenter_cloudprovider_instance_type_cpu_cores",
		"CPUs of the plan type.", []string{"instance_type"}, nil)
	memoryDesc = prometheus.NewDesc("karpenter_cloudprovider_instance_type_memory_bytes",
		"Memory of the plan type that a node of it reports.", []string{"instance_type"}, nil)
)

// Describe implements prometheus.Collector.
func (t *Set) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{priceDesc, availableDesc, cpuDesc, memoryDesc} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector: it shows each plan type as Karpenter sees it
// at this moment, before limits.
func (t *Set) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, it := range t.List() {
		gauge(cpuDesc, it.Capacity.Cpu().AsApproximateFloat64(), it.Name)
		gauge(memoryDesc, it.Capacity.Memory().AsApproximateFloat64(), it.Name)
		for _, o := range it.Offerings {
			labels := []string{it.Name, o.CapacityType(), t.region, o.Zone()}
			if o.Price > 0 { // it is known
				gauge(priceDesc, o.Price, labels...)
			}
			gauge(availableDesc, oneIf(o), labels...)
		}
	}
}

func oneIf(o *cloudprovider.Offering) float64 {
	if o.Available {
		return 1
	}
	return 0
}
