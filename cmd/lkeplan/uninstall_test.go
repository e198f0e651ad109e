package main

import (
	"context"
	"testing"

	"sigs.k8s.io/yaml"
)

// lists are the objects of a cluster, by their kinds.
type lists map[string]string

func (l lists) List(_ context.Context, _, kind string) ([]map[string]any, error) {
	if l[kind] == "" {
		return nil, nil
	}
	var obj map[string]any
	err := yaml.Unmarshal([]byte(l[kind]), &obj)
	return []map[string]any{obj}, err
}

// TestUninstallNamesWhatBlocks a node that drains.
func TestUninstallNamesWhatBlocks(t *testing.T) {
	in := lists{
		"NodeClaim": `{metadata: {name: web-1, deletionTimestamp: "2026-11-20T17:00:00Z"}, status: {nodeName: lke1},
		  spec: {nodeClassRef: {group: karpenter.k8s.linode}}}`,
		"Node": `{metadata: {name: lke1}}`,
		"Pod":  `{metadata: {namespace: shop, name: api-1, labels: {app: api}}, spec: {nodeName: lke1}}`,
		"PodDisruptionBudget": `{metadata: {namespace: shop, name: api}, spec: {selector: {matchLabels: {app: api}}},
		  status: {disruptionsAllowed: 0}}`,
	}
	const want = "the PodDisruptionBudget shop/api allows no eviction on node lke1"
	if got := blocking(t.Context(), in); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	delete(in, "PodDisruptionBudget")
	if got := blocking(t.Context(), in); got != "" {
		t.Errorf("%q without a budget", got)
	}
}
