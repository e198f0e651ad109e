package lke

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// upgrading is how far a NodePool has got with a new version of Kubernetes.
type upgrading struct {
	pool     string
	outdated int       // nodes
	newest   time.Time // when its newest claim was made
	since    time.Time // when the version was decided
}

// standstill is how long a NodePool may make no node until the next one no longer
// waits for it: a budget that is closed, or a pod that must not be disrupted, holds
// up its own NodePool only. Where new nodes do not become ready Karpenter keeps
// making others, and the rest waits.
const standstill = time.Hour

// turn reports whether the outdated nodes of a NodePool may be replaced: NodePools
// follow one another, by name, so that what is wrong with a version shows in one.
func turn(all []upgrading, pool string, now time.Time) bool {
	for _, u := range all {
		active := u.newest
		if u.since.After(active) {
			active = u.since
		}
		switch {
		case u.pool == pool:
			return true
		case u.outdated > 0 && now.Sub(active) < standstill:
			return false
		}
	}
	return true
}

// upgrades knows how far all NodePools have got. Karpenter asks for each claim.
type upgrades struct {
	client client.Reader

	mu    sync.Mutex
	asked time.Time
	pools []upgrading // by name
}

// versionDrifted reports whether a claim's node is to be replaced for its version,
// and it is its NodePool's turn.
func (u *upgrades) versionDrifted(ctx context.Context, nc *karpv1.NodeClaim,
	class *linodev1alpha1.LinodeNodeClass) (bool, error) {
	have, err := versionOf(ctx, u.client, nc)
	if err != nil || !catalog.OutdatedVersion(have, class.TargetVersion()) {
		return false, err
	}
	all, err := u.all(ctx)
	return err == nil && turn(all, nc.Labels[karpv1.NodePoolLabelKey], time.Now()), err
}

// all returns how far the NodePools have got, as they were a moment ago at most.
func (u *upgrades) all(ctx context.Context) ([]upgrading, error) {
	const fresh = 2 * time.Second
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.asked) < fresh {
		return u.pools, nil
	}
	pools, err := upgradings(ctx, u.client)
	if err != nil {
		return nil, err
	}
	u.asked, u.pools = time.Now(), pools
	return pools, nil
}

func upgradings(ctx context.Context, c client.Reader) ([]upgrading, error) {
	var classes linodev1alpha1.LinodeNodeClassList
	var nodes corev1.NodeList
	var claims karpv1.NodeClaimList
	for _, list := range []client.ObjectList{&classes, &nodes, &claims} {
		if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	kubelets, byName := map[string]string{}, map[string]*linodev1alpha1.LinodeNodeClass{}
	for i := range nodes.Items {
		kubelets[nodes.Items[i].Name] = nodes.Items[i].Status.NodeInfo.KubeletVersion
	}
	for i := range classes.Items {
		byName[classes.Items[i].Name] = &classes.Items[i]
	}
	pools := map[string]upgrading{}
	for i := range claims.Items {
		nc := &claims.Items[i]
		if !nodeclaim.Managed(nc) {
			continue
		}
		name := nc.Labels[karpv1.NodePoolLabelKey]
		u := pools[name]
		u.pool = name
		if class := byName[nc.Spec.NodeClassRef.Name]; class != nil {
			u.count(nc, class, nodeclaim.VersionOf(nc, kubelets[nc.Status.NodeName]))
		}
		pools[name] = u
	}
	all := make([]upgrading, 0, len(pools))
	for _, u := range pools {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b upgrading) int { return strings.Compare(a.pool, b.pool) })
	return all, nil
}

// count adds a claim whose node has a version.
func (u *upgrading) count(nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass, version string) {
	if catalog.OutdatedVersion(version, class.TargetVersion()) {
		u.outdated++
	}
	if made := nc.CreationTimestamp.Time; made.After(u.newest) {
		u.newest = made
	}
	if since := class.Status.KubernetesVersionSince; since != nil && since.After(u.since) {
		u.since = since.Time
	}
}
