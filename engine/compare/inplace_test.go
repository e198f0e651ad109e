package compare

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// TestPodsThatDependOnALabelInPlace: diff names the pods on the nodes whose placement depends on a label that changes in
// place. If it cannot read the pods, it reports that they are unknown.
func TestPodsThatDependOnALabelInPlace(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	text := func(team, note string) string {
		return `cluster {
  name   = "dev"
  region = "us-ord"
}
node_class "default" {}
pool "web" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
  labels       = { "example.com/team" = "` + team + `", "example.com/tier" = "1" }
  annotations  = { "example.com/note" = "` + note + `" }
  in_place     = ["example.com/team", "example.com/note"]
}`
	}
	before := compiledWhole(t, text("a", "1"))
	pod := func(name, node, phase, spec string) string {
		return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": "` + name + `"}, "spec": {"nodeName": "` +
			node + `", ` + spec + `}, "status": {"phase": "` + phase + `"}}`
	}
	const selects = `"nodeSelector": {"example.com/team": "a"}`
	view := cluster{"Pod": {
		pod("api", "n1", "Running", selects), pod("api-2", "n1", "Running", `"nodeSelector": {"example.com/tier": "1"}`),
		pod("done", "n1", "Succeeded", selects), pod("waits", "", "Pending", selects), pod("other", "n2", "Running", selects),
	}, "NodeClaim": {`{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "web-1", "labels": {
		"karpenter.sh/nodepool": "web", "example.com/team": "a"}}, "spec": {"nodeClassRef": {"group": "karpenter.k8s.linode", "kind":
		"LinodeNodeClass", "name": "default"}}, "status": {"nodeName": "n1"}}`}}
	for kind, obj := range asApplied(t, before) {
		raw, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		view[kind] = append(view[kind], string(raw))
	}
	saved, err := TakeSnapshot(t.Context(), LiveView(view), time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, team, note string
		view             View
		want             string // in the notes; "": no note about a label
	}{
		{"a label", "b", "1", LiveView(view), "The label example.com/team of pool.web changes in place, and the placement of pods on " +
			"1 node depends on it: Pod shop/api (its nodeSelector). "},
		{"an annotation", "a", "2", LiveView(view), ""},
		{"no change", "a", "1", LiveView(view), ""},
		{"a snapshot", "b", "1", saved.View(), "The label example.com/team of pool.web changes in place. The pods on the nodes of the pool were not read, "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := RevisionsOn(t.Context(), before, compiledWhole(t, text(tt.team, tt.note)), tt.view, prices, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(p.Notes, "\n")
			if tt.want == "" && strings.Contains(notes, "changes in place") || !strings.Contains(notes, tt.want) {
				t.Errorf("notes:\n%s\nwant: %s", notes, tt.want)
			}
			for _, other := range []string{"api-2", "done", "waits", "other"} {
				if strings.Contains(notes, other) {
					t.Errorf("pod %s, which does not depend on the label of these nodes:\n%s", other, notes)
				}
			}
		})
	}
}
