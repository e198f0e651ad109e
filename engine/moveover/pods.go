package moveover

import (
	"fmt"
	"slices"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// movable are the pods of a node that go when it is drained: those of DaemonSets, and
// those that the kubelet has from a file, do not, and those that have ended need not.
func movable(pods []map[string]any, node string) (on []map[string]any) {
	for _, pod := range pods {
		_, static := manifest.Lookup(pod, "metadata", "annotations", "kubernetes.io/config.mirror")
		if manifest.Text(pod, "spec", "nodeName") == node && !static && !ended(pod) &&
			manifest.Kind(controller(pod)) != "DaemonSet" {
			on = append(on, pod)
		}
	}
	return on
}

func ended(pod map[string]any) bool {
	return slices.Contains([]string{"Succeeded", "Failed"}, manifest.Text(pod, "status", "phase"))
}

func deleted(obj map[string]any) bool { return manifest.Deleted(obj) }

// controller is the reference to what makes a pod again; nil where nobody does.
func controller(pod map[string]any) map[string]any {
	owners, _ := manifest.Lookup(pod, "metadata", "ownerReferences")
	list, _ := owners.([]any)
	for _, each := range list {
		owner, _ := each.(map[string]any)
		if controls, _ := owner["controller"].(bool); controls {
			return owner
		}
	}
	return nil
}

// protected says by which annotation a pod asks to be left alone; "" where it does not.
func protected(pod map[string]any) string {
	for _, is := range []struct{ key, value string }{
		{"karpenter.sh/do-not-disrupt", "true"}, {"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
	} {
		if annotation(pod, is.key) == is.value {
			return fmt.Sprintf("its annotation %s is %s; when it may go, delete it, or the annotation", is.key, is.value)
		}
	}
	return ""
}

// idle says why a pod does not run; "" where it does.
func idle(pod map[string]any) string {
	node := manifest.Text(pod, "spec", "nodeName")
	switch {
	case node == "":
		return "finds no room on another node" + says(pod, "PodScheduled")
	case condition(pod, "Ready") != "True":
		return "is not ready on node " + node + says(pod, "Ready")
	}
	return ""
}

// unknown is the status of a condition of which nothing is heard.
const unknown = "Unknown"

// condition is the status of a condition of an object; "" where it has none.
func condition(obj map[string]any, kind string) string {
	return manifest.Text(conditionOf(obj, kind), "status")
}

// says is the message of a condition, for the end of a sentence.
func says(obj map[string]any, kind string) string {
	if message := manifest.Text(conditionOf(obj, kind), "message"); message != "" {
		return ": " + message
	}
	return ""
}

func conditionOf(obj map[string]any, kind string) map[string]any {
	all, _ := manifest.Lookup(obj, "status", "conditions")
	list, _ := all.([]any)
	for _, each := range list {
		if fields, _ := each.(map[string]any); manifest.Text(fields, "type") == kind {
			return fields
		}
	}
	return nil
}

func annotation(obj map[string]any, key string) string {
	return manifest.Text(obj, "metadata", "annotations", key)
}

func nameOf(obj map[string]any) string { return manifest.Namespace(obj) + "/" + manifest.Name(obj) }
