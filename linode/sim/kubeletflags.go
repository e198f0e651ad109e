package sim

import (
	_ "embed" // for the names of flags
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// kubeletFlags are the flags that the kubelet of Kubernetes 1.36 has: each line is one.
//
//go:embed kubeletflags.txt
var kubeletFlags string

// argument is a flag of the kubelet with its value.
type argument struct{ name, value string }

// starts returns the error with which a kubelet does not start, with the kubelet's texts and order of checks; nil
// if it starts. load reads the settings from its file. Flags override the file.
func (j *Join) starts(arguments []argument, load func() error) error {
	parse := func() error {
		for _, a := range arguments {
			if !slices.Contains(strings.Fields(kubeletFlags), a.name) {
				return fmt.Errorf("failed to parse kubelet flag: unknown flag: --%s", a.name)
			}
			if err := j.setFlag(a); err != nil {
				return fmt.Errorf("failed to parse kubelet flag: invalid argument %q for %q flag: %w", a.value, "--"+a.name, err)
			}
		}
		return nil
	}
	if err := parse(); err != nil {
		return err
	}
	if err := checkLabels(j.Labels); err != nil {
		return fmt.Errorf("failed to validate kubelet flags: %w", err)
	}
	if err := load(); err != nil {
		return err
	}
	if err := parse(); err != nil {
		return err
	}
	return j.Settings.check()
}

// setFlag applies one flag. If a flag does not change the Node, only its name is checked.
func (j *Join) setFlag(a argument) (err error) {
	s := &j.Settings
	switch a.name {
	case "cloud-provider":
		j.External = a.value == "external"
	case "provider-id":
		j.ProviderID = a.value
	case "node-labels":
		j.Labels = labelsOf(a.value)
	case "register-with-taints":
		j.Taints, err = parseTaints(a.value)
	case "max-pods":
		s.MaxPods, err = strconv.ParseInt(a.value, 10, 32)
	case "pods-per-core":
		s.PodsPerCore, err = strconv.ParseInt(a.value, 10, 32)
	case "kube-reserved":
		s.KubeReserved, err = parsePairs(a.value, "=")
	case "system-reserved":
		s.SystemReserved, err = parsePairs(a.value, "=")
	case "eviction-hard":
		s.EvictionHard, err = parsePairs(a.value, "<")
	case "eviction-soft":
		s.EvictionSoft, err = parsePairs(a.value, "<")
	case "eviction-soft-grace-period":
		s.EvictionSoftGracePeriod, err = parsePairs(a.value, "=")
	case "fail-swap-on":
		var fails bool
		fails, err = strconv.ParseBool(a.value)
		s.FailSwapOn = &fails
	}
	return err
}

// parsePairs reads "a=1,b=2".
func parsePairs(text, between string) (map[string]string, error) {
	all := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, between)
		if part == "" {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("malformed pair, expect string%sstring", between)
		}
		all[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return all, nil
}

// labelsOf reads "a=1,b". A label without a value has an empty one.
func labelsOf(text string) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if key, value, _ := strings.Cut(part, "="); part != "" {
			all[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return all
}

// A kubelet may set some labels in the namespaces of Kubernetes, and all labels in two of the namespaces.
var (
	setByKubelets = []string{
		"beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os",
		"failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone", "kubernetes.io/arch",
		"kubernetes.io/hostname", "kubernetes.io/os", "node.kubernetes.io/instance-type", "topology.kubernetes.io/region",
		"topology.kubernetes.io/zone",
	}
	ofKubelets   = []string{"kubelet.kubernetes.io", "node.kubernetes.io"}
	ofKubernetes = []string{"kubernetes.io", "k8s.io"}
)

func checkLabels(labels map[string]string) error {
	within := func(key string, domains []string) bool {
		namespace, _, ok := strings.Cut(key, "/")
		return ok && slices.ContainsFunc(domains, func(domain string) bool {
			return namespace == domain || strings.HasSuffix(namespace, "."+domain)
		})
	}
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if within(key, ofKubernetes) && !slices.Contains(setByKubelets, key) && !within(key, ofKubelets) {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: %v", unknown)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])...)
		if len(wrong) > 0 {
			return fmt.Errorf("invalid node labels: '%s' - %s", key, strings.Join(wrong, ", "))
		}
	}
	return nil
}

// parseTaints reads "key=value:Effect,other:Effect".
func parseTaints(text string) (taints []corev1.Taint, err error) {
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		pair, effect, ok := strings.Cut(part, ":")
		key, value, _ := strings.Cut(pair, "=")
		taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
		switch {
		case ok && !slices.Contains(effects, taint.Effect):
			return nil, fmt.Errorf("invalid taint effect: %s, unsupported taint effect", effect)
		case !ok || len(validation.IsValidLabelValue(value))+len(validation.IsQualifiedName(key)) > 0:
			return nil, fmt.Errorf("invalid taint spec: %s", part)
		case slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }):
			return nil, fmt.Errorf("duplicated taints with the same key and effect: %s", part)
		}
		taints = append(taints, taint)
	}
	return taints, nil
}
