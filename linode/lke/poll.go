package lke

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
)

// snapshot holds the pools of one answer of LKE.
type snapshot struct {
	asked time.Time // when the request was sent: earlier changes are in it
	shown time.Time // when LKE answered, by its own clock; zero if unknown
	pools []api.Pool
}

// poll lists all pools of the cluster.
//
// Unverified: that the count of a pool shows a change as soon as the call that made
// it was answered.
func (f *Syncer) poll(ctx context.Context) (snapshot, error) {
	shown := snapshot{asked: time.Now()}
	var err error
	shown.pools, err = f.cfg.API.Pools(api.Dated(ctx, &shown.shown), f.cfg.Cluster.ID)
	if err != nil {
		return snapshot{}, err
	}
	f.list.Put(shown.asked, shown)
	return shown, nil
}

// Pools returns all pools of the cluster as LKE showed them at a time or later. If the rate limit is short, the
// Syncer's own polls go first.
func (f *Syncer) Pools(ctx context.Context, notBefore time.Time) ([]api.Pool, error) {
	shown, err := f.list.Since(ctx, notBefore)
	return shown.pools, err
}

// Last returns all pools as LKE last showed them, however old that is; none before the first answer.
func (f *Syncer) Last() []api.Pool {
	shown, _ := f.list.Last()
	return shown.pools
}

// Traits returns the properties of the pool of an instance, if the last poll shows the instance.
func (f *Syncer) Traits(instance int) (traits capacity.Traits, known bool) {
	for _, p := range f.Last() {
		for _, s := range p.Linodes {
			if instance != 0 && s.InstanceID == instance {
				return TraitsOf(p), true
			}
		}
	}
	return capacity.Traits{}, false
}

// GroupTag is the prefix of the tag that marks a pool as lkeplan's and names its group.
const GroupTag = "lkeplan-group="

// adopted is a tag of the pools that the existing provider has created; another tag of them names the NodePool.
const adopted = "karpenter.k8s.linode/lke-managed=true"

// Keeps reports whether a node pool with these tags belongs to a provider of Karpenter: to this one, or to the
// existing one.
func Keeps(tags []string) bool {
	return GroupOf(api.Pool{Tags: tags}) != "" ||
		slices.ContainsFunc(tags, func(tag string) bool { return strings.EqualFold(tag, adopted) })
}

// GroupOf returns the key of the group that a pool belongs to; "" if it is not a pool of lkeplan. LKE ignores the
// case of tags.
func GroupOf(p api.Pool) string {
	for _, tag := range p.Tags {
		if key, ok := strings.CutPrefix(strings.ToLower(tag), GroupTag); ok {
			return key
		}
	}
	return ""
}

func poolsOf(pools []api.Pool) []capacity.Pool {
	out := make([]capacity.Pool, 0, len(pools))
	for _, p := range pools {
		q := capacity.Pool{ID: p.ID, Group: GroupOf(p), Count: p.Count, Traits: TraitsOf(p)}
		for _, tag := range p.Tags {
			q.Adopted = q.Adopted || strings.EqualFold(tag, adopted)
			if name, ok := strings.CutPrefix(tag, karpv1.NodePoolLabelKey+"="); ok {
				q.NodePool = name
			}
		}
		q.NodePool = cmp.Or(q.NodePool, p.Labels[karpv1.NodePoolLabelKey])
		for _, s := range p.Linodes {
			q.Slots = append(q.Slots, capacity.Slot{ID: s.ID, Instance: s.InstanceID})
		}
		out = append(out, q)
	}
	return out
}

// TraitsOf returns the properties of a pool that its group determines.
func TraitsOf(p api.Pool) capacity.Traits {
	t := capacity.Traits{
		Plan: p.Type, Labels: p.Labels, DiskEncryption: string(p.DiskEncryption), Autoscaled: p.Autoscaler.Enabled,
		FirewallID: ptr.Deref(p.FirewallID, 0), Version: ptr.Deref(p.K8sVersion, ""),
	}
	for _, tag := range p.Tags {
		lower := strings.ToLower(tag)
		instead, ok := strings.CutPrefix(lower, insteadTag)
		switch {
		case ok:
			t.Instead = instead
		case !strings.HasPrefix(lower, GroupTag):
			t.Tags = append(t.Tags, tag)
		}
	}
	for _, taint := range p.Taints {
		t.Taints = append(t.Taints, capacity.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)})
	}
	if sameMinor(t.Instead, t.Version) {
		t.Version = t.Instead // its nodes have the build that LKE offered instead
	}
	return t
}

// Roster lists lkeplan's LKE pools in a ConfigMap for the admission policy in
// kube/deploy/node-admission.yaml: a Node registers without a label, but its name contains
// the id of its pool.
type Roster struct {
	client          client.Client
	cluster         int
	namespace, name string

	written *string // its content; nil if unknown
}

// NewRoster returns the roster of a cluster, in the ConfigMap of that name.
func NewRoster(c client.Client, cluster int, namespace, name string) *Roster {
	return &Roster{client: c, cluster: cluster, namespace: namespace, name: name}
}

// write stores the ids of the pools if they have changed.
func (r *Roster) write(ctx context.Context, pools []api.Pool) error {
	var ids []string
	for _, p := range pools {
		if GroupOf(p) != "" {
			ids = append(ids, strconv.Itoa(p.ID))
		}
	}
	slices.Sort(ids)
	list := strings.Join(ids, ",")
	if r.written != nil && list == *r.written {
		return nil
	}
	data := map[string]string{"cluster": strconv.Itoa(r.cluster), "pools": list}
	roster := corev1ac.ConfigMap(r.name, r.namespace).WithData(data)
	if err := r.client.Apply(ctx, roster, client.FieldOwner("lkeplan-controller"), client.ForceOwnership); err != nil {
		return fmt.Errorf("write the ConfigMap %s/%s: %w", r.namespace, r.name, err)
	}
	r.written = &list
	return nil
}
