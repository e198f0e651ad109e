package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// look is one answer of LKE.
type look struct {
	asked time.Time // when the request was sent: what was done before is in it
	pools []lkeapi.Pool
}

// look asks LKE for all pools.
func (f *Fleet) look(ctx context.Context) (look, error) {
	seen := look{asked: time.Now()}
	pools, err := f.api.Pools(ctx, f.cluster.ID)
	if err != nil {
		return look{}, err
	}
	seen.pools = pools
	f.mu.Lock()
	defer f.mu.Unlock()
	if seen.asked.After(f.seen.asked) {
		f.seen = seen
	}
	return seen, nil
}

// Pools returns all pools of the cluster as LKE showed them not earlier than
// at the given time, asking anew where that must be.
func (f *Fleet) Pools(ctx context.Context, notBefore time.Time) ([]lkeapi.Pool, error) {
	f.mu.Lock()
	seen := f.seen
	f.mu.Unlock()
	if seen.asked.Before(notBefore) || seen.asked.IsZero() {
		fresh, err := f.look(ctx)
		if err != nil {
			return nil, err
		}
		seen = fresh
	}
	return seen.pools, nil
}

// Traits returns what the pool of an instance is like, where the last look
// showed it.
func (f *Fleet) Traits(instance int) (traits capacity.Traits, seen bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.seen.pools {
		if instance != 0 && slices.ContainsFunc(p.Linodes, func(s lkeapi.Slot) bool { return s.InstanceID == instance }) {
			return TraitsOf(p), true
		}
	}
	return capacity.Traits{}, false
}

// mayHold reports whether a pool has the instance, or may have it in a slot
// that LKE counts and does not list.
func (l look) mayHold(instance int, key string) bool {
	for _, p := range l.pools {
		if p.Count > len(p.Linodes) && (GroupOf(p) == key || GroupOf(p) == "") {
			return true
		}
		if slices.ContainsFunc(p.Linodes, func(s lkeapi.Slot) bool { return s.InstanceID == instance }) {
			return true
		}
	}
	return false
}

// GroupTag is how the tag begins that marks a pool as lkeplan's and names its
// group.
const GroupTag = "lkeplan-group="

// GroupOf is the key of the group that a pool belongs to; "" where the pool is
// not ours. LKE takes tags that differ in case only for the same.
func GroupOf(p lkeapi.Pool) string {
	for _, tag := range p.Tags {
		if key, ok := strings.CutPrefix(strings.ToLower(tag), GroupTag); ok {
			return key
		}
	}
	return ""
}

func poolsOf(pools []lkeapi.Pool) []capacity.Pool {
	out := make([]capacity.Pool, 0, len(pools))
	for _, p := range pools {
		q := capacity.Pool{ID: p.ID, Group: GroupOf(p), Count: p.Count, Traits: TraitsOf(p)}
		for _, s := range p.Linodes {
			q.Slots = append(q.Slots, capacity.Slot{ID: s.ID, Instance: s.InstanceID})
		}
		out = append(out, q)
	}
	return out
}

// TraitsOf returns the properties of a pool that its group determines.
func TraitsOf(p lkeapi.Pool) capacity.Traits {
	t := capacity.Traits{Plan: p.Type, Labels: p.Labels, DiskEncryption: string(p.DiskEncryption), Autoscaled: p.Autoscaler.Enabled}
	for _, tag := range p.Tags {
		if !strings.HasPrefix(strings.ToLower(tag), GroupTag) {
			t.Tags = append(t.Tags, tag)
		}
	}
	for _, taint := range p.Taints {
		t.Taints = append(t.Taints, capacity.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)})
	}
	if p.FirewallID != nil {
		t.FirewallID = *p.FirewallID
	}
	if p.K8sVersion != nil {
		t.Version = *p.K8sVersion
	}
	return t
}
