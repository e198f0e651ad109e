package bootstrap

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kubeletLabels are the labels of Kubernetes' own namespaces that a kubelet may set on its Node.
var kubeletLabels = []string{
	corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	corev1.LabelInstanceTypeStable, corev1.LabelInstanceType,
}

// KubeletMaySet reports whether a kubelet may set a label on its own Node. With any other label it does not start,
// and the admission plugin NodeRestriction would reject the Node. Karpenter sets the other labels when it registers
// the Node.
func KubeletMaySet(key string) bool {
	namespace, _, _ := strings.Cut(key, "/")
	if namespace == key || !isWithin(namespace, "kubernetes.io") && !isWithin(namespace, "k8s.io") {
		return true
	}
	return !isWithin(namespace, corev1.LabelNamespaceNodeRestriction) && (slices.Contains(kubeletLabels, key) ||
		isWithin(namespace, corev1.LabelNamespaceSuffixKubelet) || isWithin(namespace, corev1.LabelNamespaceSuffixNode))
}

// isWithin reports whether a domain is equal to another one or is below it.
func isWithin(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}
