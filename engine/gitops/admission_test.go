package gitops

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestGuardsJudgeWhatAdmissionStores: a policy of the API server changes an object of a NodePlan, before or after the first
// apply. The guards judge what the API server stores. What is not sent is not changed, and once it is applied, nothing waits.
func TestGuardsJudgeWhatAdmissionStores(t *testing.T) {
	class, pool := manifest.Key{Kind: "LinodeNodeClass", Name: "c"}, manifest.Key{Kind: "NodePool", Name: "web"}
	for name, policy := range map[string]struct {
		of      manifest.Key
		path    []string
		value   any
		rolls   bool // nodes
		reverts bool // an apply without the policy
	}{
		"a label of nodes":    {pool, []string{"spec", "template", "metadata", "labels", "example.com/by"}, "policy", true, true},
		"a limit":             {pool, []string{"spec", "limits", "cpu"}, "20", false, true},
		"a firewall":          {class, []string{"spec", "firewallID"}, int64(5), true, false},
		"the tags of a class": {class, []string{"spec", "tags"}, []any{"policy"}, false, true},
	} {
		admit := func(obj map[string]any) {
			if manifest.KeyOf(obj) == policy.of {
				last := len(policy.path) - 1
				manifest.Ensure(obj, policy.path[:last]...)[policy.path[last]] = policy.value
			}
		}
		for _, order := range []struct {
			name          string
			before, after bool // the policy, at the first commit and at the second
			changes       bool // the second commit changes the object
			refused       bool // the second commit
		}{
			{"first", true, true, false, false},
			{"later", false, true, false, false},
			{"before a change", false, true, true, policy.rolls},
			{"removed before a change", true, false, true, policy.rolls && policy.reverts},
		} {
			t.Run(name+", "+order.name, func(t *testing.T) {
				p := &proving{world: newWorld(t), now: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)}
				p.worker.Now = func() time.Time { return p.now }
				p.np = p.plan("fleet", "a", "fleet")
				push := func(n int) {
					p.commit(map[string]string{"a": fmt.Sprintf("cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\n"+
						"guards {\n  max_rolled_nodes = \"0\"\n}\nnode_class \"c\" {\n  tags = [\"tag-%d\"]\n}\npool \"web\" {\n  node_class "+
						"= node_class.c\n  requirements = { cpu = 4 }\n  labels = { l = \"a\" }\n  limits = { cpu = 40 }\n  weight = %d\n}\n", n, n)})
				}
				policed := func(on bool) {
					if p.admit = nil; on {
						p.admit = admit
					}
				}
				settle := func(what string) {
					t.Helper()
					before := p.written
					for range 2 {
						o := p.after(time.Minute)
						if o.reason != lkeplanv1alpha1.ReasonSucceeded || p.written != before || len(p.np.Status.Drift) > 0 {
							t.Errorf("%s: %s, %d writes: %s\n%v", what, o.reason, p.written-before, o.message, p.np.Status.Drift)
						}
					}
				}
				policed(order.before)
				push(1)
				if o := p.reconcile(p.np); o.reason != lkeplanv1alpha1.ReasonSucceeded {
					t.Fatal(o.message)
				}
				p.node("web")
				made, err := manifest.As[linodev1alpha1.LinodeNodeClass](p.objects[class])
				if err != nil {
					t.Fatal(err)
				}
				p.claims[0].Annotations[linodev1alpha1.AnnotationHash] = made.Hash()
				p.claims[0].Annotations[linodev1alpha1.AnnotationHashVersion] = linodev1alpha1.HashVersion
				settle("after the first commit")
				live := p.objects[policy.of]
				if policed(order.after); !order.changes {
					settle("with the policy")
					if !reflect.DeepEqual(live, p.objects[policy.of]) {
						t.Errorf("it was changed: %v", p.objects[policy.of])
					}
					return
				}
				push(2)
				o := p.after(time.Minute)
				if (o.reason == lkeplanv1alpha1.ReasonGuarded) != order.refused {
					t.Fatalf("%s: %s", o.reason, o.message)
				}
				if order.refused {
					if !reflect.DeepEqual(live, p.objects[policy.of]) {
						t.Errorf("it was changed without an approval: %v", p.objects[policy.of])
					}
					p.approve()
					o = p.after(time.Minute)
				}
				if o.reason != lkeplanv1alpha1.ReasonSucceeded || p.np.Status.Approval != nil {
					t.Fatalf("%s: %s", o.reason, o.message)
				}
				got, _ := manifest.Lookup(p.objects[policy.of], policy.path...)
				if has := reflect.DeepEqual(got, policy.value); has != (order.after || !policy.reverts) {
					t.Errorf("the policy's value is there: %v", got)
				}
				settle("after the second commit")
			})
		}
	}
}
