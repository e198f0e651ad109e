package moveover

import (
	"slices"
	"strconv"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// nodesOf are the nodes of an LKE pool.
func nodesOf(nodes []map[string]any, pool int) (of []map[string]any) {
	for _, node := range nodes {
		if manifest.Label(node, poolLabel) == strconv.Itoa(pool) {
			of = append(of, node)
		}
	}
	return of
}

// movable are the pods of a node that go when it is drained: those of DaemonSets, and
// those that the kubelet has from a file, do not, and those that have ended need not.
func movable(pods []map[string]any, node string) (on []map[string]any) {
	for _, pod := range pods {
		_, static := manifest.Lookup(pod, "metadata", "annotations", "kubernetes.io/config.mirror")
		if manifest.Text(pod, "spec", "nodeName") == node && !static && !ended(pod) && controller(pod) != "DaemonSet" {
			on = append(on, pod)
		}
	}
	return on
}

// unplaced are the pods that have no node yet.
func unplaced(pods []map[string]any) (without []map[string]any) {
	for _, pod := range pods {
		if manifest.Text(pod, "spec", "nodeName") == "" && !ended(pod) && !manifest.Deleted(pod) {
			without = append(without, pod)
		}
	}
	return without
}

func ended(pod map[string]any) bool {
	return slices.Contains([]string{"Succeeded", "Failed"}, manifest.Text(pod, "status", "phase"))
}

// managed reports whether a pod is made again when it is gone.
func managed(pod map[string]any) bool { return controller(pod) != "" }

// controller is the kind of what makes a pod; "" where nobody does.
func controller(pod map[string]any) string {
	owners, _ := manifest.Lookup(pod, "metadata", "ownerReferences")
	list, _ := owners.([]any)
	for _, each := range list {
		owner, _ := each.(map[string]any)
		if controls, _ := owner["controller"].(bool); controls {
			return manifest.Kind(owner)
		}
	}
	return ""
}

func nameOf(pod map[string]any) string { return manifest.Namespace(pod) + "/" + manifest.Name(pod) }
