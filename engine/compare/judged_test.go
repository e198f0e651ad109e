package compare

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestPlanNamesWhatIsSent: an edit that the API server would store is a change of the plan,
// of two revisions and of a cluster, and one by which Karpenter replaces nodes rolls them. An
// edit that says the same is neither a change nor sent.
func TestPlanNamesWhatIsSent(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const pool, class = `pool "web" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
  %s
}
node_class "default" {}`, `pool "web" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
}
node_class "default" {
  image = "linode/debian12"
  %s
}`
	asks := strings.ReplaceAll(strings.ReplaceAll(pool, "  %s\n", ""), "cpu = 4", "cpu = 4\n    %s\n ")
	linode := strings.ReplaceAll(class, "web", "linode") // the same in instance mode
	for _, tt := range []struct {
		in, before, after string
		effect            plan.Effect // "": it is no change
	}{
		{pool, `labels = { release = "1.10" }`, `labels = { release = "1.1" }`, plan.Roll},
		{pool, `labels = { n = "1000" }`, `labels = { n = "1k" }`, plan.Roll},
		{pool, `labels = { n = "0.5" }`, `labels = { n = "500m" }`, plan.Roll},
		{pool, `annotations = { "example.com/n" = "1.0" }`, `annotations = { "example.com/n" = "1" }`, plan.Roll},
		{asks, `"example.com/t" = absent()`, `"example.com/t" = exists()`, plan.Roll},
		{asks, `"example.com/t" = absent()`, ``, plan.MayRemove},
		{pool, `taints = ["a=1.0:NoSchedule"]`, `taints = ["a=1:NoSchedule"]`, plan.Roll},
		{pool, `metadata { labels = { n = "1.0" } }`, `metadata { labels = { n = "1" } }`, plan.InPlace},
		{pool, `metadata { annotations = { "example.com/n" = "1k" } }`, `metadata { annotations = { "example.com/n" = "1000" } }`,
			plan.InPlace},
		{pool, `limits = { cpu = 1 }`, `limits = { cpu = "1000m" }`, ""},
		{pool, `limits = { cpu = 1 }`, `limits = { cpu = 2 }`, plan.InPlace},
		{pool, `taints = ["a:NoSchedule", "b:NoSchedule"]`, `taints = ["b:NoSchedule", "a:NoSchedule"]`, ""},
		{linode, `kubelet { kube_reserved = { memory = "1Gi" } }`, `kubelet { kube_reserved = { memory = "1024Mi" } }`, plan.Roll},
		{linode, `kubelet { system_reserved = { cpu = "1" } }`, `kubelet { system_reserved = { cpu = "1000m" } }`, plan.Roll},
		{linode, `kubelet { cluster_dns = ["10.0.0.1", "10.0.0.2"] }`, `kubelet { cluster_dns = ["10.0.0.2", "10.0.0.1"] }`, plan.Roll},
		{linode, `firewall_label = "10"`, `firewall_label = "10.0"`, plan.Roll},
		{class, `tags = ["team:a", "team:b"]`, `tags = ["team:b", "team:a"]`, ""},
		{class, `os_disk { size = "20Gi" }`, `os_disk { size = "20480Mi" }`, ""},
	} {
		t.Run(tt.before+" to "+tt.after, func(t *testing.T) {
			mode := "lke"
			if tt.in == linode {
				mode = "instance"
			}
			said := "cluster {\n  name   = \"dev\"\n  region = \"us-ord\"\n  mode   = \"" + mode + "\"\n}\n" + tt.in
			before := compiledWhole(t, fmt.Sprintf(said, tt.before))
			after := compiledWhole(t, fmt.Sprintf(said, tt.after))
			revisions, err := Revisions(t.Context(), before, after, prices, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if revisions.Counted || revisions.Current != nil {
				t.Errorf("without a cluster the nodes cost %v", revisions.Current)
			}
			view := cluster{}
			for kind, obj := range asApplied(t, before) {
				raw, err := json.Marshal(obj)
				if err != nil {
					t.Fatal(err)
				}
				view[kind] = []string{string(raw)}
			}
			live, err := Live(t.Context(), after, LiveView(view), LiveOptions{Base: before, Prices: prices})
			if err != nil {
				t.Fatal(err)
			}
			kind := map[string]string{pool: "NodePool", asks: "NodePool", class: "LinodeNodeClass", linode: "LinodeNodeClass"}[tt.in]
			for what, p := range map[string]plan.Plan{"revisions": revisions, "the cluster": live.Plan} {
				var got plan.Effect
				for _, c := range p.Changes {
					if c.Kind == kind {
						got = c.Effect
					}
				}
				if got != tt.effect {
					t.Errorf("of %s the plan says %q, want %q", what, got, tt.effect)
				}
			}
			for _, target := range live.Targets {
				if sent := !target.Unchanged; manifest.Kind(target.Desired) == kind && sent != (tt.effect != "") {
					t.Errorf("it is sent: %v", sent)
				}
			}
			if err := live.Judged(); err != nil {
				t.Error(err)
			}
			for i, c := range live.Plan.Changes {
				if c.Kind != kind {
					continue
				}
				unnamed := live
				unnamed.Plan.Changes = append([]plan.Change(nil), live.Plan.Changes...)
				unnamed.Plan.Changes[i].Fields = nil
				if err := unnamed.Judged(); err == nil || !strings.Contains(err.Error(), "this is a bug in lkeplan") {
					t.Errorf("a change that names no field is judged as right: %v", err)
				}
				if c.Effect == plan.Roll {
					unnamed.Plan.Changes[i] = c
					unnamed.Plan.Changes[i].Effect = plan.InPlace
					if err := unnamed.Judged(); err == nil {
						t.Error("a change of the hash that rolls nothing is judged as right")
					}
				}
			}
		})
	}
}
