package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/object"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// gpus looks for what offers nvidia.com/gpu to pods, if a NodePool asks for GPUs. LKE's nodes have the driver and the
// toolkit, and no device plugin: without one a node is never initialized, and its pods wait.
func (p Installation) gpus(ctx context.Context) []Finding {
	const of = "GPUs"
	all, err := p.Cluster.List(ctx, "karpenter.sh/v1", "NodePool")
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return notKnown(of, err)
	}
	pool, unread := "", []Finding(nil)
	for _, obj := range all {
		wants, err := wantsGPUs(obj)
		switch {
		case err != nil:
			unread = append(unread, Finding{LevelWarn, of, fmt.Sprintf("not known: NodePool %s: %v", manifest.Name(obj), err),
				"compare the NodePool with what kubectl explain nodepools.spec prints"})
		case wants && pool == "":
			pool = manifest.Name(obj)
		}
	}
	if pool == "" {
		return unread
	}
	nodes, err := p.Cluster.List(ctx, "v1", "Node")
	if err != nil {
		return notKnown(of, err)
	}
	for _, n := range nodes {
		if has, ok := manifest.Lookup(n, "status", "allocatable", schemas.GPU); ok && has != "0" {
			return []Finding{{LevelOK, of, "Node " + manifest.Name(n) + " offers " + schemas.GPU, ""}}
		}
	}
	sets, err := p.Cluster.List(ctx, "apps/v1", "DaemonSet")
	if err != nil {
		return notKnown(of, err)
	}
	for _, d := range sets {
		containers, _ := manifest.Lookup(d, "spec", "template", "spec", "containers")
		text := fmt.Sprint(containers)
		if strings.Contains(text, "nvidia") && strings.Contains(text, "device-plugin") {
			return []Finding{{LevelOK, of, "DaemonSet " + manifest.Namespace(d) + "/" + manifest.Name(d) +
				" looks like NVIDIA's device plugin; no node offers " + schemas.GPU + " yet", ""}}
		}
	}
	return []Finding{{LevelWarn, of, fmt.Sprintf("NodePool %s asks for GPUs, and no node offers %s and no DaemonSet is NVIDIA's "+
		"device plugin: pods that ask for a GPU wait", pool, schemas.GPU),
		"install NVIDIA's device plugin; with NVIDIA's GPU operator set driver.enabled=false and toolkit.enabled=false"}}
}

// wantsGPUs says whether a NodePool asks for plan types with GPUs.
func wantsGPUs(obj map[string]any) (bool, error) {
	pool, err := object.As[karpv1.NodePool](obj)
	if err != nil {
		return false, err
	}
	if _, capped := pool.Spec.Limits[corev1.ResourceName(schemas.GPU)]; capped {
		return true, nil
	}
	return slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		switch r.Key {
		case linodev1alpha1.LabelInstanceGPUCount, linodev1alpha1.LabelInstanceGPUName:
			return r.Operator != corev1.NodeSelectorOpDoesNotExist
		case linodev1alpha1.LabelInstanceClass:
			return r.Operator == corev1.NodeSelectorOpIn && slices.Contains(r.Values, "gpu")
		}
		return false
	}), nil
}
