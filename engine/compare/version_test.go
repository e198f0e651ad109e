package compare

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// upgraded is a configuration of one class and one pool whose nodes are of some
// version, with guards that let no node be replaced.
func upgraded(t *testing.T, tier, version string) compile.Result {
	t.Helper()
	if version != "" {
		version = fmt.Sprintf("  kubernetes_version = %q\n", version)
	}
	files := strings.NewReplacer("TIER", tier, "VERSION", version).Replace(`
cluster {
  name   = "dev"
  region = "us-ord"
  tier   = "TIER"
VERSION}

guards {
  max_rolled_nodes = "0"
}

node_class "default" {}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
}
`)
	return compiledWhole(t, files)
}

// applied is a cluster to which a configuration was applied, and whose controller has
// written into the status of the class where its nodes and the control plane are. It
// has two nodes.
type applied struct {
	kept, controlPlane, pools, kubelets string // versions
	poolHashes, classHashes             string // other versions of the hashes that nodes are stamped with

	objects map[string]map[string]any
}

func (a applied) List(_ context.Context, _, kind string) ([]map[string]any, error) {
	if obj := a.objects[kind]; obj != nil {
		return []map[string]any{runtime.DeepCopyJSON(obj)}, nil
	}
	var list []map[string]any
	for i := range 2 {
		switch name := fmt.Sprintf("lke1-%d", i); kind {
		case "NodeClaim":
			list = append(list, a.claim(name))
		case "Node":
			list = append(list, map[string]any{"metadata": map[string]any{"name": name},
				"status": map[string]any{"nodeInfo": map[string]any{"kubeletVersion": a.kubelets}}})
		}
	}
	return list, nil
}

func (a applied) claim(node string) map[string]any {
	hash := func(kind string) any {
		hash, err := plan.TemplateHash(a.objects[kind])
		if err != nil {
			panic(err)
		}
		return hash
	}
	return map[string]any{
		"metadata": map[string]any{"name": node, "labels": map[string]any{
			"karpenter.sh/nodepool": "web", "karpenter.k8s.linode/instance-cpu": "4", "karpenter.sh/capacity-type": "on-demand",
		}, "annotations": map[string]any{
			karpv1.NodePoolHashAnnotationKey:        hash("NodePool"),
			karpv1.NodePoolHashVersionAnnotationKey: cmp.Or(a.poolHashes, karpv1.NodePoolHashVersion),
			linodev1alpha1.AnnotationHash:           hash("LinodeNodeClass"),
			linodev1alpha1.AnnotationHashVersion:    cmp.Or(a.classHashes, linodev1alpha1.HashVersion),
			"lkeplan.dev/group":                     fmt.Sprintf(`{"nodePool":"web","plan":"p","version":%q}`, a.pools),
		}},
		"spec": map[string]any{"nodeClassRef": map[string]any{"name": "default"}, "requirements": []any{},
			"resources": map[string]any{}, "expireAfter": "Never"},
		"status": map[string]any{"nodeName": node,
			"conditions": []any{map[string]any{"type": "Initialized", "status": "True", "lastTransitionTime": nil, "message": "",
				"reason": ""}}},
	}
}

// TestVersionsOfNodesInADiff: what is said of a control plane that was upgraded, of a
// commit that names another version, and what guards say.
func TestVersionsOfNodesInADiff(t *testing.T) {
	const old, next = "v1.33.4+lke2", "v1.34.1+lke1"
	enterprise := func(kept, controlPlane, nodes string) applied {
		return applied{kept: kept, controlPlane: controlPlane, pools: nodes, kubelets: "v1.33.4"}
	}
	standard := func(kept, controlPlane, kubelets string) applied {
		return applied{kept: kept, controlPlane: controlPlane, kubelets: kubelets}
	}
	tests := []struct {
		name       string
		tier       string
		base, head string // versions in Git
		in         applied
		want       []string
	}{
		{"all is as it was", "enterprise", old, old, enterprise(old, old, old), nil},
		{"the control plane was upgraded", "enterprise", old, old, enterprise(old, next, old),
			[]string{"drift: v1.33.4+lke2 → v1.34.1+lke1 by Linode", "stay at v1.33.4+lke2", "up to 1.36", "a build is unknown"}},
		{"and nothing is written", "enterprise", "", "", enterprise(old, next, old),
			[]string{"drift: v1.33.4+lke2 → v1.34.1+lke1 by Linode", "kubernetes_version (spec.lkeK8sVersion) is not set",
				`to pin their current version, set it to "v1.33.4+lke2"`}},
		{"a commit names another version", "enterprise", old, next, enterprise(old, next, old),
			[]string{"2 nodes roll: v1.33.4+lke2 → v1.34.1+lke1", "blocked: 2 of 2 nodes would be replaced"}},
		{"which the control plane does not have yet", "enterprise", old, next, enterprise(old, old, old),
			[]string{"2 nodes roll: v1.33.4+lke2 → v1.34.1+lke1", "blocked: 2 of 2 nodes would be replaced",
				"note: node_class.default: the control plane runs v1.33.4+lke2"}},
		{"a commit writes down what nodes have", "enterprise", "", old, enterprise(old, old, old),
			[]string{"0 nodes roll"}},
		{"a commit names none any more", "enterprise", old, "", enterprise(old, old, old), []string{"0 nodes roll"}},
		{"the nodes have followed", "enterprise", next, next, enterprise(next, next, next), nil},
		{"standard: the control plane was upgraded", "standard", "1.33", "1.33", standard("1.33", "1.34", "v1.33.4"),
			[]string{"drift: 1.33 → 1.34 by Linode", "always get the control plane's version"}},
		{"standard: a commit names another version", "standard", "1.33", "1.34", standard("1.33", "1.34", "v1.33.4"),
			[]string{"2 nodes roll: v1.33.4 → 1.34", "blocked: 2 of 2 nodes would be replaced"}},
		{"standard: who may not list nodes does not know their versions", "standard", "1.33", "1.34", standard("1.33", "1.34", ""),
			[]string{"2 nodes roll", "blocked: 2 of 2 nodes would be replaced"}},
		{"standard: new nodes have followed already", "standard", "1.33", "1.34", standard("1.33", "1.34", "v1.34.0"),
			[]string{"0 nodes roll"}},
	}
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, time.May, 1, 7, 0, 0, 0, time.UTC)
	for _, tt := range tests {
		base, head := upgraded(t, tt.tier, tt.base), upgraded(t, tt.tier, tt.head)
		tt.in.objects = asApplied(t, base)
		tt.in.objects["LinodeNodeClass"]["status"] = map[string]any{
			"kubernetesVersion": tt.in.kept, "controlPlaneVersion": tt.in.controlPlane,
		}
		snapshot, err := TakeSnapshot(t.Context(), LiveView(tt.in), now, false)
		if err != nil {
			t.Fatal(err)
		}
		for where, compared := range map[string]func() (plan.Plan, error){
			"live": func() (plan.Plan, error) {
				c, err := Live(t.Context(), head, LiveView(tt.in), LiveOptions{Base: base, Prices: prices, Now: now})
				return c.Plan, err
			},
			"a pull request on a snapshot": func() (plan.Plan, error) {
				return RevisionsOn(t.Context(), base, head, rewritten(t, snapshot), prices, now)
			},
		} {
			t.Run(tt.name+"/"+where, func(t *testing.T) {
				p, err := compared()
				if err != nil {
					t.Fatal(err)
				}
				if err := Guard(&p, base, head, nil); err != nil {
					t.Fatal(err)
				}
				got := versionsSaid(p)
				for _, want := range tt.want {
					if !strings.Contains(got, want) {
						t.Errorf("want %q in:\n%s", want, got)
					}
				}
				if len(tt.want) == 0 && got != "" {
					t.Errorf("want nothing, got:\n%s", got)
				}
			})
		}
	}
}

// TestNodesStampedByAnotherReleaseAreReplacedForAChange: what another version of a hash says is not known, and a
// controller of that version replaces nodes whose class or pool changes. If neither does, a new release replaces none.
func TestNodesStampedByAnotherReleaseAreReplacedForAChange(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const blocked = "2 nodes roll: \nblocked: 2 of 2 nodes would be replaced, and the limit is 0.\n"
	now := time.Date(2026, time.May, 1, 7, 0, 0, 0, time.UTC)
	config := func(class, pool string) compile.Result {
		return compiledWhole(t, `
cluster {
  name   = "dev"
  region = "us-ord"
}

guards {
  max_rolled_nodes = "0"
}

node_class "default" {
`+class+`
}

pool "web" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
`+pool+`
}
`)
	}
	base := config("", "")
	for name, c := range map[string]struct {
		head compile.Result
		in   applied
		want string
	}{
		"nothing changes":            {base, applied{poolHashes: "v0", classHashes: "lkeplan-v0"}, ""},
		"the class changes":          {config(`disk_encryption = "disabled"`, ""), applied{classHashes: "lkeplan-v0"}, blocked},
		"the class changes in place": {config(`tags = ["web"]`, ""), applied{classHashes: "lkeplan-v0"}, "0 nodes roll\n"},
		"the pool changes":           {config("", `labels = { a = "b" }`), applied{poolHashes: "v0"}, blocked},
		"the pool changes in place":  {config("", "weight = 5"), applied{poolHashes: "v0", classHashes: "lkeplan-v0"}, "0 nodes roll: \n"},
		"the pool changes, and only the class's hash is of another version": {
			config("", "weight = 5"), applied{classHashes: "lkeplan-v0"}, "0 nodes roll: \n"},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.objects = asApplied(t, base)
			compared, err := Live(t.Context(), c.head, LiveView(c.in), LiveOptions{Base: base, Prices: prices, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			p := compared.Plan
			if err := Guard(&p, base, c.head, nil); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(c.want, versionsSaid(p)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// rewritten is a snapshot that was written and read again.
func rewritten(t *testing.T, s Snapshot) View {
	t.Helper()
	var written bytes.Buffer
	if err := s.Write(&written); err != nil {
		t.Fatal(err)
	}
	read, err := ReadSnapshot(&written)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(s, read); diff != "" {
		t.Errorf("what was read is not what was written (-written +read):\n%s", diff)
	}
	return read.View()
}

// versionsSaid is what a plan says of versions, a line for each.
func versionsSaid(p plan.Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		if c.Impact != nil {
			fmt.Fprintf(&b, "%d nodes roll: %s\n", c.Impact.Rolled, c.Impact.Upgrade)
		}
	}
	if len(p.Changes) > 0 && b.Len() == 0 {
		b.WriteString("0 nodes roll\n")
	}
	for _, d := range p.Drift {
		fmt.Fprintf(&b, "drift: %v → %v by %s\n%s\n", d.Applied, d.Live, strings.Join(d.Owners, ", "), d.Detail)
	}
	for _, v := range p.Verdicts {
		if v.Status != plan.Passed {
			fmt.Fprintf(&b, "%s: %s\n", v.Status, v.Detail)
		}
	}
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

// TestASnapshotKeepsNothingElseOfAStatus: of the class only the versions.
func TestASnapshotKeepsNothingElseOfAStatus(t *testing.T) {
	obj := map[string]any{"kind": "LinodeNodeClass", "metadata": map[string]any{"name": "a"}, "status": map[string]any{
		"kubernetesVersion": "1.33", "controlPlaneVersion": "1.34", "conditions": []any{"secret"}, "outdatedNodes": int64(3)}}
	want := map[string]any{"kubernetesVersion": "1.33", "controlPlaneVersion": "1.34"}
	if diff := gocmp.Diff(want, manifest.Map(redactObject(obj, "salt"), "status")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
