package instance

// A placement group is created at Linode for each NodePool that requests one, and deleted when nothing needs it any
// more.
//
// The label of a group follows from the cluster, the NodePool and the policy, and is unique in the account. So a
// restart forgets nothing, and a call without an answer is sent again: if the first one was carried out, or another
// leader has created the group, the list shows it.
//
// Deletion is safe as well: Linode refuses to delete a group with Linodes in it. If a group is deleted while a
// Linode is being created in it, Linode refuses the Linode, and it is created in a new group.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/linode/linodego"
	"golang.org/x/sync/semaphore"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/loop"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// placementAPI is the part of the Linode API for placement groups; *api.Client implements it.
type placementAPI interface {
	PlacementGroups(ctx context.Context) ([]api.PlacementGroup, error)
	CreatePlacementGroup(ctx context.Context, spec api.PlacementGroupSpec) (api.PlacementGroup, error)
	DeletePlacementGroup(ctx context.Context, id int) error
}

// placementConfig configures placementGroups.
type placementConfig struct {
	Linode  placementAPI
	Cluster string        // a tag that is unique to the cluster
	Keep    time.Duration // how long a group stays that is not needed
	// Needed returns the groups that NodePools request and those in the orders of NodeClaims, read live.
	Needed func(context.Context) ([]PoolGroup, error)
	Log    *slog.Logger
}

// placementGroups are the placement groups of a cluster's NodePools. They are safe for concurrent use.
type placementGroups struct {
	cfg  placementConfig
	turn *semaphore.Weighted // guards the fields below and the calls to Linode

	shown    []api.PlacementGroup // of the cluster
	asked    time.Time
	refused  map[string]refusal // by label
	unneeded map[int]time.Time  // by id, since when it is not needed
}

// refusal is why a group was not created, and until when this answers other requests.
type refusal struct {
	err   error
	until time.Time
}

// newPlacementGroups returns placementGroups with an empty cache.
func newPlacementGroups(cfg placementConfig) *placementGroups {
	return &placementGroups{cfg: cfg, turn: semaphore.NewWeighted(1), refused: map[string]refusal{}}
}

// How long a list is used to find a group, and how long a refusal answers the other machines of its NodePool.
const (
	listCounts    = 10 * time.Second
	refusalCounts = 5 * time.Second
)

// Ensure returns the id of a NodePool's group, and creates the group if it does not exist. The error says why no
// machine can be created in it now.
func (g *placementGroups) Ensure(ctx context.Context, region string, of PoolGroup) (int, error) {
	if err := g.turn.Acquire(ctx, 1); err != nil {
		return 0, fmt.Errorf("wait for placement groups: %w", err)
	}
	defer g.turn.Release(1)
	label := Label(g.cfg.Cluster, of)
	if r := g.refused[label]; time.Now().Before(r.until) {
		return 0, r.err
	}
	found, err := g.ensure(ctx, region, label, of)
	if err == nil {
		err = groupProblem(found, of)
	}
	if err != nil {
		err = fmt.Errorf("placement group of NodePool %s: %w", of.Pool, err)
		if ctx.Err() == nil {
			g.refused[label] = refusal{err, time.Now().Add(refusalCounts)}
		}
		return 0, err
	}
	return found.ID, nil
}

// ensure finds or creates a group. The list shows whether the group exists, regardless of Linode's answer to the
// call.
func (g *placementGroups) ensure(
	ctx context.Context, region, label string, of PoolGroup,
) (found api.PlacementGroup, err error) {
	if time.Since(g.asked) < listCounts {
		if found, ok := firstGroup(g.shown, region, label); ok {
			return found, nil
		}
	}
	found, ok, err := g.findGroup(ctx, region, label)
	if err != nil || ok {
		return found, err
	}
	made, err := g.cfg.Linode.CreatePlacementGroup(ctx, api.PlacementGroupSpec{
		Label: label, Region: region, PlacementGroupType: linodego.PlacementGroupTypeAntiAffinityLocal,
		PlacementGroupPolicy: linodego.PlacementGroupPolicy(of.Policy),
	})
	if err == nil {
		g.cfg.Log.Info("placement group made", "id", made.ID, "label", label, "nodepool", of.Pool, "policy", of.Policy)
		g.shown = append(slices.Clone(g.shown), made)
		return made, nil
	}
	if found, ok, again := g.findGroup(ctx, region, label); again == nil && ok {
		return found, nil // another call has created it
	}
	return made, err
}

// findGroup requests a group from Linode.
func (g *placementGroups) findGroup(ctx context.Context, region, label string) (api.PlacementGroup, bool, error) {
	if err := g.list(ctx); err != nil {
		return api.PlacementGroup{}, false, err
	}
	found, ok := firstGroup(g.shown, region, label)
	return found, ok, nil
}

// list requests all groups from Linode, and keeps those of the cluster.
func (g *placementGroups) list(ctx context.Context) error {
	asked := time.Now()
	all, err := g.cfg.Linode.PlacementGroups(ctx)
	if err != nil {
		return err
	}
	g.asked = asked
	g.shown = slices.DeleteFunc(slices.Clone(all), func(p api.PlacementGroup) bool {
		return !isLabelOf(g.cfg.Cluster, p.Label)
	})
	return nil
}

// firstGroup returns the group that has a label in a region. If there are several, it is always the same one.
func firstGroup(all []api.PlacementGroup, region, label string) (found api.PlacementGroup, ok bool) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b api.PlacementGroup) int { return cmp.Compare(a.ID, b.ID) })
	k := slices.IndexFunc(all, func(p api.PlacementGroup) bool { return p.Region == region && p.Label == label })
	if k < 0 {
		return api.PlacementGroup{}, false
	}
	return all[k], true
}

// groupProblem says why no machine can be created in an existing group; nil if one can.
func groupProblem(found api.PlacementGroup, of PoolGroup) error {
	switch {
	case string(found.PlacementGroupPolicy) != of.Policy:
		return fmt.Errorf("%s (%d) already exists with the policy %s, not %s: rename or delete that group",
			found.Label, found.ID, found.PlacementGroupPolicy, of.Policy)
	case len(found.Members) >= groupSize:
		ids := make([]int, len(found.Members))
		for k, m := range found.Members {
			ids[k] = m.LinodeID
		}
		return fmt.Errorf("%s (%d) is full: it has the maximum of %d Linodes, %v; remove the Linodes that do not belong "+
			"to the NodePool",
			found.Label, found.ID, groupSize, ids)
	}
	return nil
}

// How many hexadecimal digits of a label identify the cluster, and how many the group.
const (
	digitsOfCluster = 10
	digitsOfGroup   = 12
)

// Label returns the label of a NodePool's placement group: 31 letters, digits and dashes. It identifies the cluster
// by a tag that is unique to it. The policy of a group cannot be changed, so each policy has another group.
//
// Unverified: that 31 characters are not too many. The API's specification names no limit; Cloud Manager has taken
// 32.
func Label(cluster string, of PoolGroup) string {
	return labelPrefix(cluster) + digestDigits(cluster+"\n"+of.Pool+"\n"+of.Policy, digitsOfGroup)
}

// isLabelOf reports whether Label can have created a label for a cluster.
func isLabelOf(cluster, label string) bool {
	rest, ok := strings.CutPrefix(label, labelPrefix(cluster))
	if _, err := hex.DecodeString(rest); err != nil {
		return false
	}
	return ok && len(rest) == digitsOfGroup && rest == strings.ToLower(rest)
}

func labelPrefix(cluster string) string {
	return "lkeplan-" + digestDigits(cluster, digitsOfCluster) + "-"
}

func digestDigits(of string, n int) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])[:n]
}

// Run deletes groups that are not needed until ctx ends.
func (g *placementGroups) Run(ctx context.Context) {
	loop.Every(ctx, g.cfg.Log, max(time.Second, g.cfg.Keep/2), "compare placement groups with NodePools",
		func(ctx context.Context) error { return g.Sweep(api.LowPriority(ctx)) })
}

// placementTimeout limits a sweep, because other calls wait for it.
const placementTimeout = 30 * time.Second

// Sweep deletes the groups that are empty and have not been needed for the time Keep, in at least two checks. A
// group that is needed again is created again.
func (g *placementGroups) Sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, placementTimeout)
	defer cancel()
	if err := g.turn.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for placement groups: %w", err)
	}
	defer g.turn.Release(1)
	if err := g.list(ctx); err != nil {
		return err
	}
	if len(g.shown) == 0 {
		g.unneeded = nil
		return nil
	}
	needed, err := g.cfg.Needed(ctx) // read after the list, so that each group in the list that is needed was requested by now
	if err != nil {
		return err
	}
	labels := map[string]bool{}
	for _, of := range needed {
		labels[Label(g.cfg.Cluster, of)] = true
	}
	var due []api.PlacementGroup
	g.unneeded, due = surplusGroups(g.unneeded, g.shown, labels, g.cfg.Keep, time.Now())
	for _, p := range due {
		if err := g.cfg.Linode.DeletePlacementGroup(ctx, p.ID); err != nil {
			g.cfg.Log.Warn("placement group not deleted", "id", p.ID, "label", p.Label, "error", err)
			continue
		}
		g.cfg.Log.Info("placement group deleted", "id", p.ID, "label", p.Label)
		g.asked = time.Time{}
	}
	return nil
}

// surplusGroups returns since when each group has been empty and not needed, and the groups that can be deleted for
// that. If several have the same label, the first one is the one that is needed.
func surplusGroups(
	since map[int]time.Time, all []api.PlacementGroup, needed map[string]bool, keep time.Duration, now time.Time,
) (next map[int]time.Time, due []api.PlacementGroup) {
	next = map[int]time.Time{}
	for _, p := range all {
		counts, _ := firstGroup(all, p.Region, p.Label)
		if len(p.Members) > 0 || needed[p.Label] && counts.ID == p.ID {
			continue
		}
		at, again := since[p.ID]
		if !again {
			at = now
		}
		next[p.ID] = at
		if again && now.Sub(at) >= keep {
			due = append(due, p)
		}
	}
	return next, due
}

// neededGroups returns the placement groups in the orders of NodeClaims and those that NodePools request, read
// live.
func (i *Machines) neededGroups(ctx context.Context) (needed []PoolGroup, err error) {
	var claims karpv1.NodeClaimList
	if err := i.cfg.Live.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	for k := range claims.Items {
		o, err := DecodeOrder(claims.Items[k].Annotations[nodeclaim.AnnotationOrder])
		if err == nil && o.PoolGroup != nil {
			needed = append(needed, *o.PoolGroup)
		}
	}
	var classes linodev1alpha1.LinodeNodeClassList
	if err := i.cfg.Live.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("list the LinodeNodeClasses: %w", err)
	}
	byName := map[string]*linodev1alpha1.LinodeNodeClass{}
	for k := range classes.Items {
		byName[classes.Items[k].Name] = &classes.Items[k]
	}
	var pools karpv1.NodePoolList
	if err := i.cfg.Live.List(ctx, &pools); err != nil {
		return nil, fmt.Errorf("list the NodePools: %w", err)
	}
	for k := range pools.Items {
		needed = append(needed, askedFor(&pools.Items[k], byName)...)
	}
	return needed, nil
}

// askedFor returns the groups that a NodePool may request. If its class does not exist, these are the groups of all
// policies.
func askedFor(pool *karpv1.NodePool, classes map[string]*linodev1alpha1.LinodeNodeClass) (groups []PoolGroup) {
	policies := []string{linodev1alpha1.PolicyStrict, linodev1alpha1.PolicyFlexible}
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil && classes[ref.Name] != nil {
		policies = nil
		if of := perPool(classes[ref.Name]); of != nil {
			policies = []string{of.Policy}
		}
	}
	for _, policy := range policies {
		groups = append(groups, PoolGroup{Pool: pool.Name, Policy: policy})
	}
	return groups
}
