package sim

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// KubeletSettings are what of a KubeletConfiguration changes what a Node offers.
type KubeletSettings struct {
	MaxPods        int64             `json:"maxPods,omitempty"`
	PodsPerCore    int64             `json:"podsPerCore,omitempty"`
	KubeReserved   map[string]string `json:"kubeReserved,omitempty"`
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	EvictionHard   map[string]string `json:"evictionHard,omitempty"`
	// MergeDefaultEvictionSettings keeps the defaults of those signals that EvictionHard does not name.
	MergeDefaultEvictionSettings bool `json:"mergeDefaultEvictionSettings,omitempty"`
}

// The signals of eviction that take from what pods can use.
const (
	memoryAvailable = "memory.available"
	diskAvailable   = "nodefs.available"
)

// evictionDefaults are a kubelet's own; they are gone where a configuration names any signal.
var evictionDefaults = map[string]string{memoryAvailable: "100Mi", diskAvailable: "10%"}

// k3sSettings are what k3s gives its kubelet where nothing else is configured.
func k3sSettings() KubeletSettings {
	return KubeletSettings{EvictionHard: map[string]string{"imagefs.available": "5%", diskAvailable: "5%"}}
}

// Offered returns what a Node has and what of it pods can use, of a machine that has so much. Where more is reserved
// than there is, nothing is left for pods.
func (s KubeletSettings) Offered(has catalog.Resources) (capacity, allocatable catalog.Resources, err error) {
	capacity = has
	if s.MaxPods > 0 {
		capacity.Pods = s.MaxPods
	}
	if s.PodsPerCore > 0 {
		capacity.Pods = min(capacity.Pods, s.PodsPerCore*has.MilliCPU/1000)
	}
	allocatable = capacity
	for _, reserved := range []map[string]string{s.KubeReserved, s.SystemReserved} {
		if err := reserve(&allocatable, reserved); err != nil {
			return capacity, allocatable, err
		}
	}
	evict := s.thresholds()
	memory, err := amount(evict[memoryAvailable], capacity.MemoryBytes)
	if err != nil {
		return capacity, allocatable, fmt.Errorf("eviction at %s: %w", memoryAvailable, err)
	}
	disk, err := amount(evict[diskAvailable], capacity.EphemeralBytes)
	if err != nil {
		return capacity, allocatable, fmt.Errorf("eviction at %s: %w", diskAvailable, err)
	}
	allocatable.MilliCPU = max(0, allocatable.MilliCPU)
	allocatable.MemoryBytes = max(0, allocatable.MemoryBytes-memory)
	allocatable.EphemeralBytes = max(0, allocatable.EphemeralBytes-disk)
	return capacity, allocatable, nil
}

func (s KubeletSettings) thresholds() map[string]string {
	if len(s.EvictionHard) == 0 {
		return evictionDefaults
	}
	thresholds := map[string]string{}
	if s.MergeDefaultEvictionSettings {
		maps.Copy(thresholds, evictionDefaults)
	}
	maps.Copy(thresholds, s.EvictionHard)
	return thresholds
}

// reserve takes what is kept for the system. A kubelet does not start with a resource that it cannot keep.
func reserve(left *catalog.Resources, reserved map[string]string) error {
	for name, text := range reserved {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return fmt.Errorf("reserved %s %q: %w", name, text, err)
		}
		switch name {
		case "cpu":
			left.MilliCPU -= quantity.MilliValue()
		case "memory":
			left.MemoryBytes -= quantity.Value()
		case "ephemeral-storage":
			left.EphemeralBytes -= quantity.Value()
		case "pid":
		default:
			return fmt.Errorf("reserved %s: want cpu, memory, ephemeral-storage or pid", name)
		}
	}
	return nil
}

// amount is a threshold of all that there is: a quantity, or a percentage, which a kubelet holds as float32.
func amount(threshold string, all int64) (int64, error) {
	if threshold == "" {
		return 0, nil
	}
	if percent, ok := strings.CutSuffix(threshold, "%"); ok {
		part, err := strconv.ParseFloat(percent, 32)
		if err != nil || part < 0 || part > 100 {
			return 0, fmt.Errorf("%q is no percentage", threshold)
		}
		return int64(float64(all) * float64(float32(part)/100)), nil
	}
	quantity, err := resource.ParseQuantity(threshold)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", threshold, err)
	}
	return quantity.Value(), nil
}

// resourceList writes resources as a Node reports them.
func resourceList(r catalog.Resources) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(r.MemoryBytes, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(r.EphemeralBytes, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(r.Pods, resource.DecimalSI),
		"hugepages-1Gi":                 *resource.NewQuantity(0, resource.DecimalSI),
		"hugepages-2Mi":                 *resource.NewQuantity(0, resource.DecimalSI),
	}
	if r.GPUs > 0 {
		list["nvidia.com/gpu"] = *resource.NewQuantity(r.GPUs, resource.DecimalSI)
	}
	return list
}
