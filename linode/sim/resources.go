package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// KubeletSettings are the fields of a KubeletConfiguration that change the resources of a Node, or can keep a
// kubelet from starting.
type KubeletSettings struct {
	MaxPods        int64             `json:"maxPods,omitempty"`
	PodsPerCore    int64             `json:"podsPerCore,omitempty"`
	KubeReserved   map[string]string `json:"kubeReserved,omitempty"`
	SystemReserved map[string]string `json:"systemReserved,omitempty"`
	EvictionHard   map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft   map[string]string `json:"evictionSoft,omitempty"`
	// EvictionSoftGracePeriod is how long a threshold of EvictionSoft has to be exceeded.
	EvictionSoftGracePeriod map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	// FailSwapOn keeps the kubelet from starting while swap is on, which is also the default.
	FailSwapOn *bool `json:"failSwapOn,omitempty"`
	// MergeDefaultEvictionSettings keeps the defaults of the signals that EvictionHard does not name.
	MergeDefaultEvictionSettings bool `json:"mergeDefaultEvictionSettings,omitempty"`
}

// The eviction signals that reduce what pods can use.
const (
	memoryAvailable = "memory.available"
	diskAvailable   = "nodefs.available"
)

// evictionDefaults are the kubelet's defaults; they do not apply if a configuration names any signal.
var evictionDefaults = map[string]string{memoryAvailable: "100Mi", diskAvailable: "10%"}

// k3sSettings returns the settings of k3s's kubelet without further configuration.
func k3sSettings() KubeletSettings {
	return KubeletSettings{
		EvictionHard: map[string]string{"imagefs.available": "5%", diskAvailable: "5%"}, FailSwapOn: new(false),
	}
}

// signals are the signals for which a kubelet can evict pods.
var signals = []string{
	memoryAvailable, diskAvailable, "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree", "containerfs.available",
	"containerfs.inodesFree", "allocatableMemory.available", "pid.available",
}

// check returns the error with which a kubelet does not start, with the kubelet's texts and order of checks.
func (s KubeletSettings) check() error {
	for field, n := range map[string]int64{"maxPods (--max-pods)": s.MaxPods, "podsPerCore " +
		"(--pods-per-core)": s.PodsPerCore} {
		if n < 0 {
			return fmt.Errorf("invalid configuration: %s %d must not be a negative number", field, n)
		}
	}
	if _, err := parseReserved(s.KubeReserved); err != nil {
		return fmt.Errorf("--kube-reserved value failed to parse: %w", err)
	}
	if _, err := parseReserved(s.SystemReserved); err != nil {
		return fmt.Errorf("--system-reserved value failed to parse: %w", err)
	}
	for _, thresholds := range []map[string]string{s.EvictionHard, s.EvictionSoft} {
		for signal, text := range thresholds {
			if _, err := evictionThreshold(signal, text, 0); err != nil {
				return err
			}
		}
	}
	for signal, text := range s.EvictionSoftGracePeriod {
		if period, err := time.ParseDuration(text); err != nil || period < 0 {
			return fmt.Errorf("invalid eviction grace period specified for %s: %s, must be a positive value", signal, text)
		}
	}
	for signal := range s.EvictionSoft {
		if s.EvictionSoftGracePeriod[signal] == "" {
			return fmt.Errorf("grace period must be specified for the soft eviction threshold %s", signal)
		}
	}
	return nil
}

// offered returns the capacity and the allocatable resources of a Node on a machine, with valid settings. If more
// is reserved than there is, nothing is left for pods.
func (s KubeletSettings) offered(has catalog.Resources) catalog.NodeResources {
	if s.MaxPods > 0 {
		has.Pods = s.MaxPods
	}
	if s.PodsPerCore > 0 {
		has.Pods = min(has.Pods, s.PodsPerCore*has.MilliCPU/1000)
	}
	rest := has
	for _, texts := range []map[string]string{s.KubeReserved, s.SystemReserved} {
		reserved, _ := parseReserved(texts)
		rest.MilliCPU -= reserved.Cpu().MilliValue()
		rest.MemoryBytes -= reserved.Memory().Value()
		rest.EphemeralBytes -= reserved.StorageEphemeral().Value()
	}
	evict := s.thresholds()
	memory, _ := evictionThreshold(memoryAvailable, evict[memoryAvailable], has.MemoryBytes)
	disk, _ := evictionThreshold(diskAvailable, evict[diskAvailable], has.EphemeralBytes)
	rest.MilliCPU = max(0, rest.MilliCPU)
	rest.MemoryBytes = max(0, rest.MemoryBytes-memory)
	rest.EphemeralBytes = max(0, rest.EphemeralBytes-disk)
	return catalog.NodeResources{Capacity: has, Allocatable: rest}
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

// parseReserved reads the resources that are reserved for the system.
func parseReserved(texts map[string]string) (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for name, text := range texts {
		switch name {
		case "cpu", "memory", "ephemeral-storage", "pid":
		default:
			return nil, fmt.Errorf("cannot reserve %q resource", name)
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("failed to parse quantity %q for %q resource: %w", text, name, err)
		}
		if quantity.Sign() < 0 {
			return nil, fmt.Errorf("resource quantity for %q cannot be negative: %s", name, text)
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, nil
}

// evictionThreshold returns how much of the total a signal reserves: a quantity, or a percentage, which a kubelet
// stores as float32. "", 0% and 100% reserve nothing.
func evictionThreshold(signal, text string, all int64) (int64, error) {
	if !slices.Contains(signals, signal) {
		return 0, fmt.Errorf("unsupported eviction signal %s", signal)
	}
	if text == "" || text == "0%" || text == "100%" {
		return 0, nil
	}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		part, err := strconv.ParseFloat(percent, 32)
		switch {
		case err != nil:
			return 0, err
		case part < 0:
			return 0, fmt.Errorf("eviction percentage threshold %s must be >= 0%%: %s", signal, text)
		case part > 100:
			return 0, fmt.Errorf("eviction percentage threshold %s must be <= 100%%: %s", signal, text)
		}
		return int64(float64(all) * float64(float32(part)/100)), nil
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, err
	}
	if quantity.Sign() <= 0 {
		return 0, fmt.Errorf("eviction threshold %s must be positive: %s", signal, text)
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
