package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/engine/cluster"
)

// Detail is what there is to know of one node.
type Detail struct {
	NodeRow
	Facts [][2]string // name and value
	Pods  []PodRow

	podless bool // they are not known
}

// PodRow is a pod of a node.
type PodRow struct {
	Name    string // with its namespace
	CPU     int64  // millicores that it asks for
	Memory  int64  // bytes
	Created time.Time
	Held    bool // it keeps its node from being replaced
}

// Detail looks into a node of the screen, as it was read.
func (s Screen) Detail(c cluster.Snapshot, name string) (d Detail, ok bool) {
	i := slices.IndexFunc(s.Nodes, func(n NodeRow) bool { return n.Name == name })
	if i < 0 {
		return d, false
	}
	d.NodeRow, d.podless = s.Nodes[i], s.podless()
	for _, node := range c.Nodes {
		if node.Name == name {
			d.Facts = append(d.Facts, factsOf(node)...)
		}
	}
	for _, nc := range c.Claims {
		if nc.Name == d.Claim {
			d.Facts = append(d.Facts, conditionsOf(nc)...)
		}
	}
	for _, pod := range c.Pods {
		if pod.Spec.NodeName != name || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		asked := resources.RequestsForSpec(&pod.Spec)
		d.Pods = append(d.Pods, PodRow{
			Name: pod.Namespace + "/" + pod.Name, CPU: asked.Cpu().MilliValue(), Memory: asked.Memory().Value(),
			Created: pod.CreationTimestamp.Time, Held: pod.Annotations[karpv1.DoNotDisruptAnnotationKey] == "true",
		})
	}
	slices.SortFunc(d.Pods, func(a, b PodRow) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Memory, a.Memory), strings.Compare(a.Name, b.Name))
	})
	return d, true
}

func factsOf(node *corev1.Node) [][2]string {
	info := node.Status.NodeInfo
	facts := [][2]string{
		{"Linode", node.Spec.ProviderID}, {"region", node.Labels[corev1.LabelTopologyRegion]},
		{"kubelet", info.KubeletVersion}, {"system", info.OSImage},
	}
	for _, t := range node.Spec.Taints {
		facts = append(facts, [2]string{"taint", t.ToString()})
	}
	return slices.DeleteFunc(facts, func(f [2]string) bool { return f[1] == "" })
}

// conditionsOf are the conditions of a NodeClaim that say more than that all is well.
func conditionsOf(nc *karpv1.NodeClaim) (facts [][2]string) {
	facts = append(facts, [2]string{"NodeClaim", nc.Name})
	for _, c := range nc.Status.Conditions {
		if c.Message == "" && (c.Reason == "" || c.Reason == c.Type) {
			continue
		}
		facts = append(facts, [2]string{c.Type, strings.TrimSpace(string(c.Status) + " " + c.Reason + ": " + c.Message)})
	}
	return facts
}
