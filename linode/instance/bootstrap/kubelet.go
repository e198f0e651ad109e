package bootstrap

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

type settings = linodev1alpha1.KubeletConfiguration

// kubeletConfig is the settings as a KubeletConfiguration of the kubelet, whose names they
// have; "" if nothing is said.
func kubeletConfig(k *settings) (string, error) {
	if k == nil {
		return "", nil
	}
	said, err := json.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("kubelet: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(said, &fields); err != nil || len(fields) == 0 {
		return "", err
	}
	fields["apiVersion"], fields["kind"] = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"
	text, err := yaml.Marshal(fields)
	return string(text), err
}

// flags are the settings as flags of the kubelet, which is how k3s hands them on in all its
// versions: a file of settings counts for less than the flags that k3s gave a kubelet before
// it wrote such files itself (1.32). A flag that is "" is not given.
//
// Unverified: that k3s and the kubelet take each of these flags. All but provider-id and the
// labels are deprecated in favour of files, and have been since 1.10.
var flags = []flagOf{
	{"clusterDNS", "cluster-dns", func(k *settings) string { return strings.Join(k.ClusterDNS, ",") }},
	{"maxPods", "max-pods", func(k *settings) string { return number(k.MaxPods) }},
	{"podsPerCore", "pods-per-core", func(k *settings) string { return number(k.PodsPerCore) }},
	{"systemReserved", "system-reserved", func(k *settings) string { return pairs(k.SystemReserved, "=") }},
	{"kubeReserved", "kube-reserved", func(k *settings) string { return pairs(k.KubeReserved, "=") }},
	{"evictionHard", "eviction-hard", func(k *settings) string { return pairs(k.EvictionHard, "<") }},
	{"evictionSoft", "eviction-soft", func(k *settings) string { return pairs(k.EvictionSoft, "<") }},
	{"evictionSoftGracePeriod", "eviction-soft-grace-period", func(k *settings) string {
		periods := map[string]string{}
		for signal, d := range k.EvictionSoftGracePeriod {
			periods[signal] = d.Duration.String()
		}
		return pairs(periods, "=")
	}},
	{"evictionMaxPodGracePeriod", "eviction-max-pod-grace-period",
		func(k *settings) string { return number(k.EvictionMaxPodGracePeriod) }},
	{"cpuCFSQuota", "cpu-cfs-quota", func(k *settings) string { return yesNo(k.CPUCFSQuota) }},
	{"failSwapOn", "fail-swap-on", func(k *settings) string { return yesNo(k.FailSwapOn) }},
}

type flagOf struct {
	field, flag string
	value       func(*settings) string
}

// kubeletFlags are the settings as name=value.
func kubeletFlags(k *settings) (all []string) {
	for _, f := range flags {
		if k == nil {
			break
		}
		if value := f.value(k); value != "" {
			all = append(all, f.flag+"="+value)
		}
	}
	return all
}

func number(n *int32) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func yesNo(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func pairs(m map[string]string, between string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, key+between+m[key])
	}
	return strings.Join(all, ",")
}

// CheckKubelet reports each setting, with its field, with which a kubelet would not start. Values must not
// contain commas, which separate them in flags.
func CheckKubelet(k *settings) error {
	if k == nil {
		return nil
	}
	wrong := []error{
		checkPairs("systemReserved", k.SystemReserved, isQuantity), checkPairs("kubeReserved", k.KubeReserved, isQuantity),
		checkPairs("evictionHard", k.EvictionHard, isThreshold), checkPairs("evictionSoft", k.EvictionSoft, isThreshold),
	}
	for _, address := range k.ClusterDNS {
		if a, err := netip.ParseAddr(address); err != nil || a.Zone() != "" {
			wrong = append(wrong, fmt.Errorf("kubelet.clusterDNS: %q is not an IP address", address))
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoft)) {
		if _, ok := k.EvictionSoftGracePeriod[signal]; !ok {
			wrong = append(wrong, fmt.Errorf("kubelet.evictionSoft: %s has no duration in evictionSoftGracePeriod", signal))
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(k.EvictionSoftGracePeriod)) {
		if d := k.EvictionSoftGracePeriod[signal]; !keyForm.MatchString(signal) || d.Duration < 0 {
			wrong = append(wrong, fmt.Errorf("kubelet.evictionSoftGracePeriod: %q: %s is not a valid "+
				"duration", signal, d.Duration))
		}
	}
	for field, n := range map[string]*int32{
		"maxPods": k.MaxPods, "podsPerCore": k.PodsPerCore, "evictionMaxPodGracePeriod": k.EvictionMaxPodGracePeriod,
	} {
		if n != nil && *n < 0 {
			wrong = append(wrong, fmt.Errorf("kubelet.%s: %d is less than 0", field, *n))
		}
	}
	if k.MaxPods != nil && *k.MaxPods == 0 {
		wrong = append(wrong, errors.New("kubelet.maxPods: must be at least 1"))
	}
	slices.SortStableFunc(wrong, func(a, b error) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return errors.Join(wrong...)
}

var (
	keyForm    = regexp.MustCompile(`^[a-z][A-Za-z.-]*$`)
	amountForm = regexp.MustCompile(`^[0-9A-Za-z.+-]+%?$`)
)

func checkPairs(field string, m map[string]string, ok func(string) bool) error {
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !keyForm.MatchString(key) || !amountForm.MatchString(m[key]) || !ok(m[key]) {
			wrong = append(wrong, fmt.Errorf("kubelet.%s: %q: %q is not a quantity", field, key, m[key]))
		}
	}
	return errors.Join(wrong...)
}

func isQuantity(text string) bool {
	q, err := resource.ParseQuantity(text)
	return err == nil && q.Sign() >= 0
}

// isThreshold: a kubelet does not start with a quantity of 0, and treats 0% as none.
func isThreshold(text string) bool {
	share, ok := strings.CutSuffix(text, "%")
	if !ok {
		q, err := resource.ParseQuantity(text)
		return err == nil && q.Sign() > 0
	}
	f, err := strconv.ParseFloat(share, 64)
	return err == nil && f >= 0 && f <= 100
}
