package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/linode/linodego"
)

func TestPoolValidation(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, tc := range []struct {
		name    string
		tier    string
		request fields // added to a good request; nil takes a field out
		want    string
	}{
		{"good", "standard", fields{"tags": []string{"a=b"}, "labels": fields{"a.example.com/b": ""}}, ""},
		{"count missing", "standard", fields{"count": nil}, "count: count is required"},
		{"count 0", "standard", fields{"count": 0}, "count: Must be 1-100"},
		{"count 101", "standard", fields{"count": 101}, "count: Must be 1-100"},
		{"count text", "standard", fields{"count": "two"}, "400 count: Must be of type int"},
		{"count 101 on Enterprise", "enterprise", fields{"count": 101}, ""},
		{"count 501 on Enterprise", "enterprise", fields{"count": 501}, "count: Must be 1-500"},
		{"type missing", "standard", fields{"type": nil}, "type: type is required"},
		{"type unknown", "standard", fields{"type": "g9-none-1"}, "type: A valid plan type by that ID was not found"},
		{
			"nanode", "standard", fields{"type": "g6-nanode-1"},
			"type: Plan g6-nanode-1 is not available for LKE in region us-ord",
		},
		{
			"not sold here", "standard", fields{"type": "g1-gpu-rtx6000-1"},
			"type: Plan g1-gpu-rtx6000-1 is not available for LKE in region us-ord",
		},
		{"label", "standard", fields{"label": "Web"}, "label: Must be up to 32"},
		{"label good", "standard", fields{"label": "web-1"}, ""},
		{"labels key", "standard", fields{"labels": fields{long: "a"}}, "labels: Invalid key"},
		{"labels key prefix", "standard", fields{"labels": fields{"Example.com/a": "a"}}, "labels: Invalid key"},
		{"labels key 63", "standard", fields{"labels": fields{long[:63]: "a"}}, ""},
		{
			"labels key 63 after a prefix", "standard", fields{"labels": fields{"a.b/" + long[:63]: "a"}}, "labels: Invalid key",
		},
		{"labels value", "standard", fields{"labels": fields{"a": "b c"}}, "labels: Invalid value for label a"},
		{
			"labels reserved", "standard", fields{
				"labels": fields{"node.kubernetes.io/x": "a"},
			}, "labels: Key \"node.kubernetes.io/x\" is reserved",
		},
		{"labels reserved by Linode", "standard", fields{"labels": fields{"lke.linode.com/x": "a"}}, "is reserved"},
		{"labels not texts", "standard", fields{"labels": fields{"a": 1}}, "labels: Must be of type"},
		{
			"taint without value", "standard", fields{
				"taints": []fields{{"key": "a", "effect": "NoSchedule"}},
			}, "taints: key, value and effect are required",
		},
		{
			"taint with empty value", "standard", fields{
				"taints": []fields{{"key": "a", "value": "", "effect": "NoSchedule"}},
			}, "",
		},
		{
			"taint effect", "standard", fields{
				"taints": []fields{{"key": "a", "value": "b", "effect": "Never"}},
			}, "taints: Effect must be one of",
		},
		{
			"taint reserved", "standard", fields{
				"taints": []fields{{"key": "node.kubernetes.io/a", "value": "b", "effect": "NoExecute"}},
			}, "is reserved",
		},
		{
			"taint value reserved", "standard", fields{
				"taints": []fields{{"key": "a", "value": "linode.com", "effect": "NoExecute"}},
			}, "taints: Invalid value for taint a",
		},
		{"tag short", "standard", fields{"tags": []string{"ab"}}, "tags: Length must be 3-50 characters"},
		{"tag long", "standard", fields{"tags": []string{strings.Repeat("x", 51)}}, "tags: Length must be 3-50 characters"},
		{"disks", "standard", fields{"disks": slices.Repeat([]linodego.LKENodePoolDisk{{Size: 100, Type: "ext4"}}, 8)}, "disks: At most 7 disks"},
		{"disk type", "standard", fields{"disks": []linodego.LKENodePoolDisk{{Size: 100, Type: "ext3"}}}, "disks: A disk needs"},
		{
			"autoscaler half", "standard", fields{
				"autoscaler": fields{"enabled": true, "min": 1},
			}, "autoscaler: min and max require each other",
		},
		{
			"autoscaler order", "standard", fields{
				"autoscaler": fields{"min": 3, "max": 2},
			}, "autoscaler: min and max must be 1-100",
		},
		{"encryption", "standard", fields{"disk_encryption": "maybe"}, "disk_encryption: Must be enabled or disabled"},
		{"firewall on standard", "standard", fields{"firewall_id": 1}, ""},
		{"version on standard", "standard", fields{"k8s_version": "1.35"}, "k8s_version: Only for LKE Enterprise clusters"},
		{
			"strategy on standard", "standard", fields{"update_strategy": "on_recycle"},
			"update_strategy: Only for LKE Enterprise clusters",
		},
		{"null is left out", "standard", fields{"firewall_id": nil, "labels": nil, "taints": nil, "tags": nil}, ""},
		{"version missing on Enterprise", "enterprise", fields{"k8s_version": nil}, "k8s_version: k8s_version is required"},
		{
			"version unknown on Enterprise", "enterprise", fields{"k8s_version": "v9.9.9+lke1"},
			"k8s_version: k8s_version is not valid",
		},
		{"strategy unknown on Enterprise", "enterprise", fields{"update_strategy": "never"}, "update_strategy: Must be"},
		{"firewall on Enterprise", "enterprise", fields{"firewall_id": 12}, ""},
		{"several at once", "standard", fields{"count": 0, "tags": []string{"a"}}, "count: Must be 1-100; tags: Length"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newAccount(t, Config{Tier: tc.tier})
			request := fields{"type": "g6-standard-4", "count": 1}
			if tc.tier == "enterprise" {
				request["k8s_version"], request["update_strategy"] = a.Config().KubernetesVersion, "on_recycle"
			}
			maps.Copy(request, tc.request)
			if tc.want == "" {
				a.do("POST", "cluster/pools", request, nil)
				return
			}
			if got := a.refused("POST", "cluster/pools", request); !strings.HasPrefix(got, "400 ") ||
				!strings.Contains(got, tc.want) {
				t.Errorf("got %q; want 400 with %q", got, tc.want)
			}
			if pools := a.Pools(); len(pools) != 0 {
				t.Errorf("made %d pools nevertheless", len(pools))
			}
		})
	}
}

func TestClusterIsFull(t *testing.T) {
	a := newAccount(t, Config{})
	first := a.makePool(100, nil)
	a.makePool(100, nil)
	a.makePool(49, nil)
	one := fields{"type": "g6-standard-4", "count": 2}
	if got := a.refused("POST", "cluster/pools", one); !strings.Contains(got,
		"count: A cluster cannot have more than 250 nodes") {
		t.Errorf("251 nodes: %s", got)
	}
	if got := a.refused("PUT", fmt.Sprintf("cluster/pools/%d", first.ID),
		fields{"count": 101}); !strings.Contains(got, "count: Must be 1-100") {
		t.Errorf("101 nodes in a pool: %s", got)
	}
	a.makePool(1, nil)
	if got := a.Stats().Slots; got != 250 {
		t.Errorf("%d slots", got)
	}
}

func TestAccountLimit(t *testing.T) {
	a := newAccount(t, Config{MaxInstances: 3})
	p := a.makePool(2, nil)
	want := "400 Account Limit reached. Please open a support ticket."
	if got := a.refused("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 4}); got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	a.do("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 3}, nil)
}

// The answer to a creation lacks the instance that was made last; the next call has it.
func TestLastSlotIsNullFirst(t *testing.T) {
	a := newAccount(t, Config{})
	p := a.makePool(3, nil)
	if got := nulls(p); got != 1 {
		t.Errorf("%d slots without an instance in the answer to POST", got)
	}
	if got := nulls(a.pool(p.ID)); got != 0 {
		t.Errorf("%d slots without an instance afterwards", got)
	}
	a.do("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 4}, &p)
	if got := nulls(p); got != 0 || p.Count != 4 || len(p.Nodes) != 4 {
		t.Errorf("after PUT: %+v", p)
	}
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{InstanceDelay: 10 * time.Second, JoinDelay: time.Minute, DeleteDelay: 15 * time.Second})
		p := a.makePool(2, nil)
		seen := func(wantNull int, wantStatus string) {
			t.Helper()
			now := a.pool(p.ID)
			if nulls(now) != wantNull || now.Nodes[0].Status != wantStatus {
				t.Errorf("%d slots without an instance, node %s; want %d, %s", nulls(now), now.Nodes[0].Status, wantNull,
					wantStatus)
			}
		}
		seen(2, "not_ready")
		time.Sleep(9 * time.Second)
		seen(2, "not_ready")
		time.Sleep(time.Second)
		seen(0, "not_ready")
		first := a.Instances()[0]
		if first.Status != "offline" {
			t.Errorf("instance is %s at first", first.Status)
		}
		time.Sleep(time.Minute)
		seen(0, "ready")
		if got := a.Instances()[0].Status; got != "running" {
			t.Errorf("instance is %s after a minute", got)
		}

		a.do("DELETE", "cluster/nodes/"+a.pool(p.ID).Nodes[0].ID, nil, nil)
		if now := a.pool(p.ID); now.Count != 1 || len(now.Nodes) != 1 || now.Autoscaler.Min != 2 {
			t.Errorf("after DELETE: %+v", now)
		}
		if s := a.Stats(); s.Live != 2 || s.Deleting != 1 || s.Deleted != 0 {
			t.Errorf("after DELETE: %+v", s)
		}
		time.Sleep(15 * time.Second)
		if s := a.Stats(); s.Live != 1 || s.Deleting != 0 || s.Deleted != 1 || s.PeakLive != 2 {
			t.Errorf("15 s after DELETE: %+v", s)
		}
	})
}

func TestEnterpriseListsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{Tier: "enterprise", ListDelay: 30 * time.Second})
		p := a.makePool(2, fields{"tags": []string{"owner=me"}})
		if p.Count != 2 || len(p.Nodes) != 0 {
			t.Errorf("answer to POST: count %d, %d nodes", p.Count, len(p.Nodes))
		}
		time.Sleep(29 * time.Second)
		if got := a.pool(p.ID); len(got.Nodes) != 0 {
			t.Errorf("%d nodes listed early", len(got.Nodes))
		}
		if n := len(a.Instances()); n != 2 {
			t.Errorf("%d instances", n)
		}
		time.Sleep(time.Second)
		a.do("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 3}, &p)
		if p.Count != 3 || len(p.Nodes) != 2 || nulls(p) != 0 {
			t.Errorf("answer to PUT: %+v", p)
		}
		if all := a.Pools()[0]; len(all.Nodes) != 3 {
			t.Errorf("the inspection shows %d nodes", len(all.Nodes))
		}
	})
}

func TestTagsCascadeOnEnterpriseOnly(t *testing.T) {
	for tier, want := range map[string][]string{
		"standard": {}, "enterprise": {"lkeCLUSTER", "nodepool=POOL", "owner=me", "zzz"},
	} {
		a := newAccount(t, Config{Tier: tier, ClusterID: 4242})
		p := a.makePool(1, fields{"tags": []string{"zzz", "owner=me"}})
		if diff := cmp.Diff([]string{"owner=me", "zzz"}, p.Tags); diff != "" {
			t.Errorf("%s: pool tags are not sorted:\n%s", tier, diff)
		}
		for n := range want {
			want[n] = strings.NewReplacer("CLUSTER", "4242", "POOL", fmt.Sprint(p.ID)).Replace(want[n])
		}
		if diff := cmp.Diff(want, a.Instances()[0].Tags); diff != "" {
			t.Errorf("%s: instance tags (-want +got):\n%s", tier, diff)
		}
		a.do("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"tags": []string{"owner=you"}}, nil)
		if got := slices.Contains(a.Instances()[0].Tags, "owner=you"); got != (tier == "enterprise") {
			t.Errorf("%s: changed tags: %v", tier, a.Instances()[0].Tags)
		}
		if slices.Contains(a.Instances()[0].Tags, "owner=me") {
			t.Errorf("%s: old tags stay: %v", tier, a.Instances()[0].Tags)
		}
	}
}

func TestShrinkingTakesAnyNodes(t *testing.T) {
	victims := map[string]bool{}
	for seed := range uint64(8) {
		a := newAccount(t, Config{Seed: seed})
		p := a.makePool(3, nil)
		before := a.pool(p.ID).Nodes
		a.do("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 2}, &p)
		for n, node := range before {
			if !slices.ContainsFunc(p.Nodes, func(left Node) bool { return left.ID == node.ID }) {
				victims[fmt.Sprint(n)] = true
			}
		}
		if p.Count != 2 || len(p.Nodes) != 2 {
			t.Errorf("seed %d: %+v", seed, p)
		}
	}
	if len(victims) < 2 {
		t.Errorf("eight seeds always took node %v", victims)
	}
}

// Deleting an instance behind LKE's back, or recycling, keeps the slot and brings another instance.
func TestSlotOutlivesItsInstance(t *testing.T) {
	for _, how := range []string{"DELETE instance", "POST node", "POST pool", "lose"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccount(t, Config{InstanceDelay: 5 * time.Second, DeleteDelay: 10 * time.Second})
				p := a.makePool(1, nil)
				time.Sleep(5 * time.Second)
				before := a.pool(p.ID).Nodes[0]
				switch how {
				case "DELETE instance":
					a.do("DELETE", fmt.Sprintf("/linode/instances/%d", *before.InstanceID), nil, nil)
				case "POST node":
					a.do("POST", "cluster/nodes/"+before.ID+"/recycle", nil, nil)
				case "POST pool":
					a.do("POST", fmt.Sprintf("cluster/pools/%d/recycle", p.ID), nil, nil)
				case "lose":
					if !a.LoseInstance(*before.InstanceID, true) || a.LoseInstance(1, true) {
						t.Error("LoseInstance")
					}
				}
				if got := a.pool(p.ID); got.Count != 1 || got.Nodes[0].ID != before.ID || got.Nodes[0].InstanceID != nil {
					t.Errorf("at once: %+v", got)
				}
				time.Sleep(15 * time.Second)
				after := a.pool(p.ID).Nodes[0]
				if after.ID != before.ID || after.InstanceID == nil || *after.InstanceID == *before.InstanceID {
					t.Errorf("later: %+v; before %+v", after, before)
				}
				if s := a.Stats(); s.Made != 2 || s.Deleted != 1 || s.Live != 1 || s.PeakLive != 1 {
					t.Errorf("stats %+v", s)
				}
			})
		})
	}
}

func TestPoolLabelNamesItsNodes(t *testing.T) {
	a := newAccount(t, Config{ClusterID: 77, Breaks: []string{"labelled"}})
	p := a.makePool(1, fields{"label": "web"})
	_, hash, _ := strings.Cut(p.Nodes[0].ID, "-")
	if got, want := a.Instances()[0].Label, "lke77-web-"+hash; got != want {
		t.Errorf("instance %s; want %s", got, want)
	}
}

func TestLockedPool(t *testing.T) {
	a := newAccount(t, Config{})
	p := a.makePool(2, nil)
	pool, node := fmt.Sprintf("cluster/pools/%d", p.ID), "cluster/nodes/"+p.Nodes[0].ID
	want := "400 This resource is locked and cannot be deleted"
	a.LockPool(p.ID, LockWithNodes)
	if got := a.refused("DELETE", pool, nil); got != want {
		t.Errorf("pool: %s", got)
	}
	if got := a.refused("DELETE", node, nil); got != want {
		t.Errorf("node: %s", got)
	}
	a.LockPool(p.ID, LockDelete)
	a.do("DELETE", node, nil, nil)
	if got := a.refused("DELETE", pool, nil); got != want || a.pool(p.ID).Locks[0] != LockDelete {
		t.Errorf("pool: %s", got)
	}
	if !a.LockPool(p.ID) || a.LockPool(1) {
		t.Error("LockPool")
	}
	a.do("DELETE", pool, nil, nil)
}

func TestDeletingAPoolOrCluster(t *testing.T) {
	a := newAccount(t, Config{})
	other, err := a.AddCluster(Config{ClusterLabel: "other"})
	if err != nil {
		t.Fatal(err)
	}
	p := a.makePool(3, nil)
	a.do("POST", fmt.Sprintf("/lke/clusters/%d/pools", other.ID), fields{"type": "g6-standard-1", "count": 2}, nil)
	for _, path := range []string{
		"cluster/pools/%d", "cluster/nodes/%d-000000000000", "/linode/instances/%d", "cluster/pools/1%d",
	} {
		if got := a.refused("GET", fmt.Sprintf(path, 99), nil); got != "404 Not found" {
			t.Errorf("GET %s: %s", path, got)
		}
	}
	if got := a.refused("DELETE", fmt.Sprintf("/lke/clusters/%d/pools/%d", other.ID, p.ID), nil); got != "404 Not found" {
		t.Errorf("a pool of another cluster: %s", got)
	}
	if got := a.refused("DELETE", fmt.Sprintf("/lke/clusters/%d/nodes/%s", other.ID, p.Nodes[0].ID),
		nil); got != "404 Not found" {
		t.Errorf("a node of another cluster: %s", got)
	}
	a.do("DELETE", fmt.Sprintf("cluster/pools/%d", p.ID), nil, nil)
	if s := a.Stats(); s.Live != 2 || s.Pools != 1 {
		t.Errorf("after the pool: %+v", s)
	}
	a.do("DELETE", fmt.Sprintf("/lke/clusters/%d", other.ID), nil, nil)
	if s := a.Stats(); s.Live != 0 || s.Pools != 0 || s.Made != 5 || s.PeakLive != 5 {
		t.Errorf("after the cluster: %+v", s)
	}
}

func TestCostIsCounted(t *testing.T) {
	a := newAccount(t, Config{Region: "br-gru"})
	p := a.makePool(2, fields{"type": "g6-standard-2"})
	a.makePool(1, fields{"type": "g6-standard-1"})
	a.do("DELETE", fmt.Sprintf("cluster/pools/%d", p.ID), nil, nil)
	if s := a.Stats(); s.HourlyCost.String() != "0.025" || s.PeakHourlyCost.String() != "0.125" {
		t.Errorf("cost %s, at the peak %s", s.HourlyCost, s.PeakHourlyCost)
	}
	a.Reset()
	if s := a.Stats(); s.HourlyCost.String() != "0.025" || s.PeakHourlyCost != s.HourlyCost || s.Made != 0 ||
		s.PeakLive != 1 || s.Calls != 0 {
		t.Errorf("after a reset: %+v", s)
	}
}

// The same seed and the same calls give the same ids, delays and victims; another seed gives others.
func TestSeedDecides(t *testing.T) {
	story := func(seed uint64) (all []any) {
		synctest.Test(t, func(t *testing.T) {
			a := newAccount(t, Config{Seed: seed, InstanceDelay: 5 * time.Second, JoinDelay: time.Minute, Jitter: 0.5})
			p := a.makePool(5, nil)
			for range 8 {
				time.Sleep(time.Second)
				all = append(all, a.pool(p.ID))
			}
			a.do("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": 2}, &p)
			all = append(all, p, a.Instances())
		})
		return all
	}
	if diff := cmp.Diff(story(1), story(1)); diff != "" {
		t.Errorf("one seed, two stories:\n%s", diff)
	}
	if cmp.Equal(story(1), story(2)) {
		t.Error("two seeds, one story")
	}
}

// When instances come does not depend on who reads when.
func TestReadsDoNotChangeTheSimulation(t *testing.T) {
	story := func(read bool) (all []Instance) {
		synctest.Test(t, func(t *testing.T) {
			a := newAccount(t, Config{InstanceDelay: 5 * time.Second, Jitter: 0.9})
			a.makePool(5, nil)
			a.makePool(5, nil)
			for range 20 {
				time.Sleep(time.Second)
				if read {
					a.Stats()
				}
			}
			all = a.Instances()
		})
		return all
	}
	if diff := cmp.Diff(story(false), story(true)); diff != "" {
		t.Errorf("(-unseen +seen)\n%s", diff)
	}
}
