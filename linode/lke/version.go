package lke

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Reasons why nodes of a class do not have the version of the control plane.
const (
	controlPlaneAhead  = "ControlPlaneAhead"
	controlPlaneBehind = "ControlPlaneBehind"
	versionGone        = "VersionGone"
	buildNotOffered    = "BuildNotOffered"
)

// wish is the input of the decision about the version of a class's nodes.
type wish struct {
	written      string   // in the class; "" if it names none
	kept         string   // the previous decision; "" the first time
	nodes        []string // the versions of its nodes
	controlPlane string   // "" if unknown
	offered      []string // by LKE Enterprise; nil if it does not matter or is unknown
}

// decision is the version of a class's nodes, and why it differs from the control plane's.
type decision struct{ version, reason, message string }

// decide keeps the version of the nodes of a class until the class names another one, even if the control plane is
// upgraded.
func (w wish) decide() decision {
	kept := w.kept
	if kept == "" {
		kept = w.firstVersion()
	}
	switch {
	case w.written != "" && !catalog.ReachesVersion(w.controlPlane, w.written):
		return decision{kept, controlPlaneBehind, fmt.Sprintf(
			"The control plane runs %s, but kubernetes_version (spec.lkeK8sVersion) is %s: upgrade the control plane first, "+
				"in Cloud Manager or with the Linode API. Until then no node is replaced for its "+
				"version.", w.controlPlane, w.written)}
	case w.written == "" && w.offered != nil && kept != w.controlPlane && !slices.Contains(w.offered, kept):
		return decision{w.controlPlane, versionGone, fmt.Sprintf(
			"LKE Enterprise no longer creates nodes of %s: new nodes get the control plane's version, %s, and the others "+
				"keep theirs. %s. To choose a version, set kubernetes_version (spec.lkeK8sVersion).",
			kept, w.controlPlane, catalog.VersionDeadline(kept))}
	case w.written != "":
		kept = w.written
	}
	if catalog.NewerVersion(w.controlPlane, kept) {
		return decision{kept, controlPlaneAhead, catalog.VersionAhead(w.controlPlane, kept, w.written != "")}
	}
	if w.offered != nil && kept == w.controlPlane && !slices.Contains(w.offered, kept) {
		return decision{kept, buildNotOffered, fmt.Sprintf(
			"LKE Enterprise no longer offers this account %s, the version of the control plane; it offers: %s. If LKE "+
				"refuses new node pools of it, they are created with another build of the same minor version, and an event of "+
				"the NodeClaims names it. No node is replaced for that.", kept, strings.Join(w.offered, ", "))}
	}
	return decision{version: kept}
}

// firstVersion returns the version of a class that is seen for the first time: the version of its nodes if it has
// any, for example after a restore or if an older controller did not record it, or else the control plane's.
func (w wish) firstVersion() string {
	newest, ok := catalog.ParseVersion(catalog.NewestVersion(w.nodes...))
	switch {
	case !ok:
		return w.controlPlane
	case newest.Exact():
		return newest.String()
	}
	return newest.Minor() // the kubelets of the standard tier report a patch version as well
}

// UpdateStatus implements Rules: it writes the version of new nodes, the number of nodes with another version, and
// the version of the control plane into the status of a class.
//
// Unverified: that pools on Enterprise, and machines everywhere, keep their version until they are recycled or
// replaced, also when the control plane is upgraded.
func (l *Classes) UpdateStatus(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) error {
	claims, err := nodeclaim.OfClass(ctx, l.client, class.Name)
	if err != nil {
		return err
	}
	w := wish{
		written:      ptr.Deref(class.Spec.LKEK8sVersion, ""),
		kept:         class.Status.KubernetesVersion,
		controlPlane: cmp.Or(l.control.Version(), class.Status.ControlPlaneVersion), // LKE's last answer
	}
	for i := range claims {
		version, err := versionOf(ctx, l.client, &claims[i])
		if err != nil {
			return err
		}
		w.nodes = append(w.nodes, version)
	}
	if l.tier() == catalog.Enterprise && (w.written == "" || w.written == w.controlPlane) {
		if versions, err := l.versions(ctx); err == nil {
			w.offered = versions
		}
	}
	l.writeVersion(class, w, w.decide())
	l.writeFirewall(class)
	return nil
}

// writeVersion writes the decision, and an event if it has changed.
func (l *Classes) writeVersion(class *linodev1alpha1.LinodeNodeClass, w wish, d decision) {
	status := &class.Status
	if status.KubernetesVersion != d.version {
		status.KubernetesVersion, status.KubernetesVersionSince = d.version, new(metav1.NewTime(time.Now()))
	}
	status.ControlPlaneVersion, status.OutdatedNodes = w.controlPlane, 0
	for _, version := range w.nodes {
		if catalog.OutdatedVersion(version, class.TargetVersion()) {
			status.OutdatedNodes++
		}
	}
	conditions := class.StatusConditions()
	if d.reason == "" {
		conditions.SetTrue(linodev1alpha1.ConditionVersionCurrent)
		return
	}
	before := conditions.Get(linodev1alpha1.ConditionVersionCurrent)
	conditions.SetFalse(linodev1alpha1.ConditionVersionCurrent, d.reason, d.message)
	if before == nil || before.Reason != d.reason || before.Message != d.message {
		l.events.Eventf(class, nil, corev1.EventTypeWarning, d.reason, "Upgrade", "%s", d.message)
	}
}

// versionOf returns the Kubernetes version of a claim's node; "" if unknown.
func versionOf(ctx context.Context, c client.Reader, nc *karpv1.NodeClaim) (string, error) {
	if version := nodeclaim.VersionOf(nc, ""); version != "" || nc.Status.NodeName == "" {
		return version, nil
	}
	var node corev1.Node
	if err := c.Get(ctx, client.ObjectKey{Name: nc.Status.NodeName}, &node); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return nodeclaim.VersionOf(nc, node.Status.NodeInfo.KubeletVersion), nil
}

// upgrading is the progress of a NodePool towards a new version of Kubernetes.
type upgrading struct {
	pool     string
	outdated int       // number of nodes
	newest   time.Time // when its newest claim was created
	since    time.Time // when the version was decided
}

// standstill is how long a NodePool may create no node before the next NodePool does not wait for it any more: a
// closed budget, or a pod that must not be disrupted, should hold up only its own NodePool. If new nodes do not
// become ready, Karpenter keeps creating others, and the other NodePools wait.
const standstill = time.Hour

// mayReplace reports whether the outdated nodes of a NodePool may be replaced. NodePools are upgraded one after the
// other, by name, so that a fault in a version appears in only one of them.
func mayReplace(all []upgrading, pool string, now time.Time) bool {
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

// upgrades caches the progress of all NodePools, because Karpenter asks for each claim.
type upgrades struct {
	client client.Reader

	mu    sync.Mutex
	asked time.Time
	pools []upgrading // by name
}

// versionDrifted reports whether a claim's node must be replaced because of its version, and it is its NodePool's
// turn.
func (u *upgrades) versionDrifted(ctx context.Context, nc *karpv1.NodeClaim,
	class *linodev1alpha1.LinodeNodeClass) (bool, error) {
	have, err := versionOf(ctx, u.client, nc)
	if err != nil || !catalog.OutdatedVersion(have, class.TargetVersion()) {
		return false, err
	}
	all, err := u.progress(ctx)
	return err == nil && mayReplace(all, nc.Labels[karpv1.NodePoolLabelKey], time.Now()), err
}

// progress returns the progress of the NodePools, which may be cached for a moment.
func (u *upgrades) progress(ctx context.Context) ([]upgrading, error) {
	const fresh = 2 * time.Second
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.asked) < fresh {
		return u.pools, nil
	}
	pools, err := readUpgrades(ctx, u.client)
	if err != nil {
		return nil, err
	}
	u.asked, u.pools = time.Now(), pools
	return pools, nil
}

func readUpgrades(ctx context.Context, c client.Reader) ([]upgrading, error) {
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
	return slices.SortedFunc(maps.Values(pools), func(a, b upgrading) int { return strings.Compare(a.pool, b.pool) }), nil
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
