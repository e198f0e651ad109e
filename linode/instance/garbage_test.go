package instance

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/linodetest"
)

// emptied is an account with one Linode, which makes and deletes none.
type emptied struct {
	API
	one api.Instance
}

func (e emptied) Instances(context.Context, string) ([]api.Instance, error) {
	return []api.Instance{e.one}, nil
}
func (e emptied) InstancesNamed(context.Context, string) ([]api.Instance, error) {
	return []api.Instance{e.one}, nil
}
func (e emptied) Instance(context.Context, int) (api.Instance, error) { return e.one, nil }
func (e emptied) InstanceLabelled(context.Context, string) (api.Instance, bool, error) {
	return e.one, true, nil
}
func (e emptied) CreateInstance(context.Context, api.InstanceSpec) (api.Instance, error) {
	return e.one, nil
}
func (e emptied) DeleteInstance(context.Context, int) error        { return nil }
func (e emptied) TagInstance(context.Context, int, []string) error { return nil }

func (e emptied) PlacementGroups(context.Context) ([]api.PlacementGroup, error) {
	return nil, errSilence
}

// TestNoNodeClaimPanics, of any shape, neither alone nor in a step of the loop.
func TestNoNodeClaimPanics(t *testing.T) {
	clientWith() // registers the classes
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for n := range 80 {
			nc := linodetest.Garbage(rng, n)
			i, _ := countingIn(t, &listing{}, nc.DeepCopy(), classOf(t, `{image: x, tags: [a-tag]}`))
			i.cfg.Events = &events.FakeRecorder{} // without a channel: it drops events
			i.claims.Events = i.cfg.Events
			account := emptied{one: api.Instance{ID: 7, Label: i.cfg.Identity.Node(string(nc.UID)), Tags: []string{i.cfg.Identity.Tag()}}}
			i.cfg.API, i.syncer.cfg.Linode, i.pools.cfg.Linode = account, account, account
			i.cfg.Joins = Joins{Live: i.cfg.Client, Tokens: token.New(i.cfg.Client, i.cfg.Client)}
			i.listed(time.Now(), []api.Instance{account.one})
			ctx, c, uid := t.Context(), cluster{i}, string(nc.UID)
			node := &corev1.Node{}
			node.Name, node.Spec.ProviderID = i.cfg.Identity.Node(uid), nc.Status.ProviderID
			for call, cause := range linodetest.Panics(map[string]func(){
				"Look":       func() { _, _, _ = c.Look(ctx) },
				"step":       func() { _, _ = i.syncer.Step(ctx) },
				"Get":        func() { _, _ = i.Get(ctx, 7) },
				"List":       func() { _, _ = i.List(ctx) },
				"Spec":       func() { _, _ = c.Spec(ctx, uid) },
				"Bind":       func() { _ = c.Bind(ctx, decide.Bind{UID: uid, Machine: 7}) },
				"InUse":      func() { _, _, _ = c.InUse(ctx, 7, node.Name) },
				"Queued":     func() { _ = c.Queued(ctx, []string{uid}) },
				"Refused":    func() { c.Refused(ctx, uid, errSilence) },
				"Undeleted":  func() { c.Undeleted(ctx, decide.Delete{UID: uid, Machine: 7}, errSilence) },
				"confirmed":  func() { _ = c.WarnUnconfirmed(ctx, []string{uid}) },
				"unjoined":   func() { i.Reported(ctx, nc) },
				"tags":       func() { _ = i.tag(ctx, nc, []api.Instance{account.one}, map[string][]string{"default": {"a-tag"}}) },
				"untagged":   func() { _ = i.findUntagged(ctx) },
				"its Node":   func() { i.Ours(node); NewRejoiner(i).joining(node) },
				"its token":  func() { token.Spent(nc) },
				"its groups": func() { _, _ = i.neededGroups(ctx) },
				"drift":      func() { _, _ = NewOrders(i.cfg.Client, i).Drifted(ctx, nc, classOf(t, `{image: x}`)) },
				"order": func() {
					_, _ = NewOrders(i.cfg.Client, i).Order(ctx, nc, classOf(t, `{image: x}`), &karpv1.NodePool{}, "g6-standard-2")
				},
				"end": func() {
					for _, why := range []Reason{Taken, OutOfStock, Lost} {
						_ = c.End(ctx, uid, why)
					}
				},
			}) {
				t.Errorf("%s: %v with %+v", call, cause, nc)
			}
			synctest.Wait()
		}
	})
}
