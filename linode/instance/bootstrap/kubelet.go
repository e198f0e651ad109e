package bootstrap

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

type settings = linodev1alpha1.KubeletConfiguration

// fieldsOf returns the settings by the kubelet's names; empty without settings.
func fieldsOf(k *settings) map[string]any {
	if k == nil {
		return nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(k)
	if err != nil {
		panic(fmt.Sprintf("read the settings of a kubelet: %v", err)) // all its fields can be written as JSON
	}
	return fields
}

// kubeletConfig returns the settings as a KubeletConfiguration; "" without settings.
func kubeletConfig(k *settings) string {
	fields := fieldsOf(k)
	if len(fields) == 0 {
		return ""
	}
	fields["apiVersion"], fields["kind"] = "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"
	return asYAML(fields)
}

// flags are the settings as flags of the kubelet, for k3s. k3s passes flags on in all its versions. A file of settings
// has no effect before 1.32 for a setting that k3s itself passes as a flag.
//
// Unverified: that k3s and the kubelet take each of these flags. All but provider-id and the
// labels are deprecated in favour of files, and have been since 1.10.
var flags = []flagOf{
	{"clusterDNS", "cluster-dns", ""},
	{"maxPods", "max-pods", ""},
	{"podsPerCore", "pods-per-core", ""},
	{"systemReserved", "system-reserved", "="},
	{"kubeReserved", "kube-reserved", "="},
	{"evictionHard", "eviction-hard", "<"},
	{"evictionSoft", "eviction-soft", "<"},
	{"evictionSoftGracePeriod", "eviction-soft-grace-period", "="},
	{"evictionMaxPodGracePeriod", "eviction-max-pod-grace-period", ""},
	{"cpuCFSQuota", "cpu-cfs-quota", ""},
	{"failSwapOn", "fail-swap-on", ""},
}

type flagOf struct{ field, flag, between string } // between the key and the value of a pair

// kubeletFlags returns the settings as name=value.
func kubeletFlags(k *settings) (all []string) {
	fields := fieldsOf(k)
	for _, f := range flags {
		var values []string
		switch said := fields[f.field].(type) {
		case nil:
			continue
		case []any:
			for _, value := range said {
				values = append(values, fmt.Sprint(value))
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(said)) {
				values = append(values, fmt.Sprintf("%s%s%v", key, f.between, said[key]))
			}
		default:
			values = append(values, fmt.Sprint(said))
		}
		all = append(all, f.flag+"="+strings.Join(values, ","))
	}
	return all
}

// CheckKubelet reports each setting with which a kubelet would not start, with its field. Values must not contain
// commas, which separate values in flags.
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

// isThreshold reports whether a text is a valid eviction threshold. A kubelet does not start with a quantity of 0,
// and treats 0% as none.
func isThreshold(text string) bool {
	share, ok := strings.CutSuffix(text, "%")
	if !ok {
		q, err := resource.ParseQuantity(text)
		return err == nil && q.Sign() > 0
	}
	f, err := strconv.ParseFloat(share, 64)
	return err == nil && f >= 0 && f <= 100
}
