package lke

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DaemonSetsSeen is when the DaemonSets of LKE were observed.
const DaemonSetsSeen = "November 2026"

// DaemonSets returns the DaemonSets that LKE runs on each node of a cluster of the standard tier, with the requests
// that kubectl describe node printed on a user's cluster. Those of the enterprise tier, with Cilium, have not been
// observed. The images are placeholders.
//
// Unverified: all clusters of the standard tier have the same.
func DaemonSets() []*appsv1.DaemonSet {
	return []*appsv1.DaemonSet{
		daemonSet("calico-node", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}),
		daemonSet("csi-linode-node", nil),
		daemonSet("kube-proxy", nil),
	}
}

func daemonSet(name string, requests corev1.ResourceList) *appsv1.DaemonSet {
	labels := map[string]string{"k8s-app": name}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					PriorityClassName: "system-node-critical",
					Tolerations:       []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers: []corev1.Container{{
						Name: name, Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: requests},
					}},
				},
			},
		},
	}
}

// OwnDaemonSet reports whether a DaemonSet is one that LKE runs.
func OwnDaemonSet(set *appsv1.DaemonSet) bool {
	return slices.ContainsFunc(DaemonSets(), func(own *appsv1.DaemonSet) bool {
		return own.Namespace == set.Namespace && own.Name == set.Name
	})
}
