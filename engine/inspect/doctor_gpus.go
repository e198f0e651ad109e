package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/object"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// gpus looks for what offers nvidia.com/gpu to pods, if a NodePool asks for GPUs. LKE's nodes have the driver and the
// toolkit, and no device plugin: without one a node is never initialized, and its pods wait.
func (p Installation) gpus(ctx context.Context) []Finding {
	const of = "GPUs"
	pools, err := p.Cluster.List(ctx, "karpenter.sh/v1", "NodePool")
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return notKnown(of, err)
	}
	pool, unread := "", []Finding(nil)
	for _, obj := range pools {
		switch typed, err := object.As[karpv1.NodePool](obj); {
		case err != nil:
			unread = append(unread, Finding{LevelWarn, of, fmt.Sprintf("not known: NodePool %s: %v", manifest.Name(obj), err),
				"compare the NodePool with what kubectl explain nodepools.spec prints"})
		case wantsGPUs(typed) && pool == "":
			pool = typed.Name
		}
	}
	if pool == "" {
		return unread
	}
	nodes, err := cluster.List[corev1.Node](ctx, p.Cluster, "v1", "Node")
	if err != nil {
		return notKnown(of, err)
	}
	for _, n := range nodes {
		if has := n.Status.Allocatable[schemas.GPU]; !has.IsZero() {
			return []Finding{{LevelOK, of, "Node " + n.Name + " offers " + schemas.GPU, ""}}
		}
	}
	sets, err := cluster.List[appsv1.DaemonSet](ctx, p.Cluster, "apps/v1", "DaemonSet")
	if err != nil {
		return notKnown(of, err)
	}
	for _, d := range sets {
		text := fmt.Sprint(d.Spec.Template.Spec.Containers)
		if strings.Contains(text, "nvidia") && strings.Contains(text, "device-plugin") {
			return []Finding{{LevelOK, of, "DaemonSet " + d.Namespace + "/" + d.Name +
				" looks like NVIDIA's device plugin; no node offers " + schemas.GPU + " yet", ""}}
		}
	}
	return []Finding{{LevelWarn, of, fmt.Sprintf("NodePool %s asks for GPUs, and no node offers %s and no DaemonSet is NVIDIA's "+
		"device plugin: pods that ask for a GPU wait", pool, schemas.GPU),
		"install NVIDIA's device plugin; with NVIDIA's GPU operator set driver.enabled=false and toolkit.enabled=false"}}
}

// wantsGPUs says whether a NodePool asks for plan types with GPUs.
func wantsGPUs(pool *karpv1.NodePool) bool {
	if _, capped := pool.Spec.Limits[schemas.GPU]; capped {
		return true
	}
	return slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		switch r.Key {
		case linodev1alpha1.LabelInstanceGPUCount, linodev1alpha1.LabelInstanceGPUName:
			return r.Operator != corev1.NodeSelectorOpDoesNotExist
		case linodev1alpha1.LabelInstanceClass:
			return r.Operator == corev1.NodeSelectorOpIn && slices.Contains(r.Values, "gpu")
		}
		return false
	})
}
