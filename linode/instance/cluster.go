package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// cluster reads and writes the API server for the syncer.
type cluster struct{ *Machines }

var _ claimStore = cluster{}

// Look implements claimStore.
func (c cluster) Look(ctx context.Context) ([]decide.Claim, map[int]decide.Node, error) {
	var list karpv1.NodeClaimList
	if err := c.cfg.Client.List(ctx, &list); err != nil {
		return nil, nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	var all []decide.Claim
	for k := range list.Items {
		if claim, ok := claimFrom(&list.Items[k]); ok {
			all = append(all, claim)
		}
	}
	registered, err := c.nodes.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	nodes := make(map[int]decide.Node, len(registered))
	for instance, node := range registered {
		nodes[instance] = decide.Node{Name: node.Name, Leaving: node.Leaving, MayBeDeleted: node.MayBeDeleted}
	}
	c.show(list.Items)
	c.watchJoins(ctx, list.Items)
	go c.syncTags(context.WithoutCancel(ctx), list.Items)
	return all, nodes, nil
}

// claimFrom converts a claim that has or waits for a machine; it returns false for others.
func claimFrom(nc *karpv1.NodeClaim) (decide.Claim, bool) {
	if !nodeclaim.Managed(nc) {
		return decide.Claim{}, false
	}
	claim := decide.Claim{
		UID: string(nc.UID), Machine: nodeclaim.InstanceOf(nc.Status.ProviderID), Created: nc.CreationTimestamp.Time,
		Leaving: !nc.DeletionTimestamp.IsZero(),
		Kind:    nodeclaim.PlanOf(nc) + " " + nc.Spec.NodeClassRef.Name,
	}
	waits := nodeclaim.IsPending(nc.Status.ProviderID)
	if o, err := DecodeOrder(nc.Annotations[nodeclaim.AnnotationOrder]); waits && err == nil && o.PoolGroup != nil {
		claim.Kind += " " + o.Group().String()
	}
	return claim, claim.Machine != 0 || waits
}

// Spec implements claimStore.
func (c cluster) Spec(ctx context.Context, uid string) (spec api.InstanceSpec, err error) {
	defer func() {
		if err != nil {
			err = unspecifiedError{err}
		}
	}()
	nc, err := nodeclaim.ByUID(ctx, c.cfg.Client, uid)
	if err != nil {
		return spec, err
	}
	o, err := DecodeOrder(nc.Annotations[nodeclaim.AnnotationOrder])
	if err != nil {
		return spec, fmt.Errorf("NodeClaim %s: %w", nc.Name, err)
	}
	if o.PoolGroup != nil {
		if o.PlacementGroup, err = c.pools.Ensure(ctx, c.cfg.Types.Region(), *o.PoolGroup); err != nil {
			return spec, err
		}
	}
	text, err := c.cfg.Joins.userData(ctx, nc, c.cfg.Identity.Node(uid), o)
	if err != nil {
		return spec, err
	}
	var password string
	if len(o.AuthorizedKeys)+len(o.AuthorizedUsers) == 0 {
		password = rand.Text() + "-" + rand.Text()
	}
	spec = o.Spec(c.cfg.Types.Region(), password)
	spec.Tags = append(spec.Tags, c.cfg.Identity.NameTag())
	spec.Metadata, err = api.UserData(text)
	return spec, err
}

// Bind implements claimStore.
func (c cluster) Bind(ctx context.Context, b decide.Bind) error {
	nc, err := nodeclaim.ByUID(ctx, c.cfg.Client, b.UID)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := c.claims.Bind(ctx, nc, b.Machine, nodeclaim.AnnotationOrder); err != nil {
		return err
	}
	c.bound(nc)
	if err := c.renew(ctx, nc); err != nil { // it may have waited for a long time
		c.cfg.Log.Warn("a machine has less time to join", "nodeclaim", nc.Name, "error", err)
	}
	return nil
}

// InUse implements claimStore.
func (c cluster) InUse(ctx context.Context, machine int, label string) (owned, inhabited bool, err error) {
	var list karpv1.NodeClaimList
	if err := c.cfg.Live.List(ctx, &list); err != nil {
		return false, false, fmt.Errorf("list the NodeClaims: %w", err)
	}
	for k := range list.Items {
		nc := &list.Items[k]
		owned = owned || nodeclaim.InstanceOf(nc.Status.ProviderID) == machine ||
			c.cfg.Identity.Node(string(nc.UID)) == label
	}
	var node corev1.Node
	err = c.cfg.Live.Get(ctx, client.ObjectKey{Name: label}, &node)
	if apierrors.IsNotFound(err) {
		return owned, false, nil
	}
	return owned, node.Labels[karpv1.NodeRegisteredLabelKey] == "true", err
}

// Drain implements claimStore.
func (c cluster) Drain(ctx context.Context, d decide.Drain) error {
	c.cfg.Log.Info("draining a Node whose NodeClaim is gone", "node", d.Node, "instance", d.Machine)
	return c.nodes.Drain(ctx, d.Node)
}

// End implements claimStore.
func (c cluster) End(ctx context.Context, uid string, why Reason) error {
	nc, err := nodeclaim.ByUID(ctx, c.cfg.Client, uid)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if why == Lost {
		return c.claims.Lose(ctx, uid, nodeclaim.InstanceOf(nc.Status.ProviderID),
			"the account no longer has this node's Linode: it was deleted outside lkeplan")
	}
	var live karpv1.NodeClaim
	if err := c.cfg.Live.Get(ctx, client.ObjectKeyFromObject(nc), &live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.UID != nc.UID || !nodeclaim.IsPending(live.Status.ProviderID) || !live.DeletionTimestamp.IsZero() {
		return nil
	}
	reason := fmt.Sprintf("another Linode in the account has the label %s", c.cfg.Identity.Node(uid))
	if why == OutOfStock {
		plan := nodeclaim.PlanOf(nc)
		if _, closed := c.cfg.Types.Closed()[plan]; closed {
			reason = fmt.Sprintf("plan %s is closed to this account; ask Linode Support for access", plan)
		} else {
			c.cfg.Types.Block(plan, time.Now().Add(c.cfg.Timing.NoCapacity))
			reason = fmt.Sprintf("Linode has no %s in %s", plan, c.cfg.Types.Region())
		}
	}
	return c.claims.DeleteUnserved(ctx, &live, reason)
}

// Keep implements claimStore: it reports a machine that stays without a claim.
func (c cluster) Keep(machine int) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	registered, err := c.nodes.List(ctx)
	node, ok := registered[machine]
	if err != nil || !ok {
		return
	}
	message := fmt.Sprintf("several Nodes, including %s, have lost their NodeClaims without being deleted; their "+
		"Linodes keep running and cost money; to delete one: kubectl annotate --overwrite node NAME %s=%s",
		node.Name, nodeclaim.AnnotationOrphaned, nodeclaim.OrphanDelete)
	c.cfg.Log.Warn("kept a machine without a NodeClaim", "node", node.Name, "instance", machine, "message", message)
	c.claims.WarnNodePool(ctx, node.NodePool, "NodesOrphaned", message)
	if err := c.nodes.Keep(ctx, node.Name); err != nil {
		c.cfg.Log.Error("could not annotate a Node that it is kept", "node", node.Name, "error", err)
	}
}

// closer wraps the Linode API for the syncer. If a plan is closed to the account, it is not offered for hours, even
// if the claim that requested it is gone.
type closer struct {
	API
	types *instancetype.Set
}

// CreateInstance implements linodes.
func (a closer) CreateInstance(ctx context.Context, spec api.InstanceSpec) (api.Instance, error) {
	made, err := a.API.CreateInstance(ctx, spec)
	if api.ClassOf(err) == api.ClassPlanClosed {
		a.types.Close(spec.Type, time.Now().Add(instancetype.ClosedFor))
	}
	return made, err
}

// Listed implements claimStore.
func (c cluster) Listed(asked time.Time, all []api.Instance) { c.listed(asked, all) }

// Refused counts a machine that was not created, and reports the reason on its claim.
func (i cluster) Refused(ctx context.Context, uid string, err error) {
	i.count(ctx, uid, err)
	if i.shouldNotify(uid, err.Error()) {
		i.claims.Warn(ctx, uid, "MachineNotMade", err.Error())
	}
}

// Undeleted counts a machine that was not deleted, and reports each reason once on its claim. Machines
// without a claim count as well.
func (i cluster) Undeleted(ctx context.Context, order decide.Delete, err error) {
	reason := string(api.ClassOf(err))
	if errors.Is(err, errChanged) {
		reason = changedMarks
	}
	i.metrics.NotDeleted(i.planType(ctx, order), reason)
	text := fmt.Sprintf("delete Linode %d: %v; lkeplan tries again", order.Machine, err)
	if order.UID == "" || !i.shouldNotify(order.UID, text) {
		return
	}
	if err := i.claims.NotDeleted(ctx, order.UID, "MachineNotDeleted", text); err != nil {
		i.cfg.Log.Warn("could not note that a machine is not deleted", "claim", order.UID, "error", err)
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.notified, order.UID+text) // report it at the next try
	}
}

// planType returns the plan type of a machine; "" if unknown.
func (i cluster) planType(ctx context.Context, order decide.Delete) string {
	all, _ := i.list.Last()
	if one := byID(all, order.Machine); one != nil {
		return one.Type
	}
	nc, err := nodeclaim.ByUID(ctx, i.cfg.Client, order.UID)
	if err != nil {
		return ""
	}
	return nodeclaim.PlanOf(nc)
}

// WarnUnconfirmed writes an event on claims that stay although Linode does not list their machines.
func (i cluster) WarnUnconfirmed(ctx context.Context, uids []string) error {
	for _, uid := range uids {
		if i.shouldNotify(uid, "unconfirmed") {
			i.claims.Warn(ctx, uid, "MachineNotListed", fmt.Sprintf("Linode lists no machine for this NodeClaim and %d "+
				"others, although their Nodes exist: the token may belong to another account or to a user who cannot see the "+
				"Linodes; nothing is deleted. Give the controller a token of the account; if the Linodes are really gone, "+
				"delete the Nodes", len(uids)-1))
		}
	}
	return nil
}

// shouldNotify reports whether a claim has had no event with a text for a while.
func (i *Machines) shouldNotify(uid, text string) bool {
	const again = 5 * time.Minute
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(i.notified, func(_ string, at time.Time) bool { return now.Sub(at) > again })
	if _, notified := i.notified[uid+text]; notified {
		return false
	}
	i.notified[uid+text] = now
	return true
}

// Karpenter deletes a claim whose Node has not registered within 15 minutes after the condition Registered was last
// set. Only waiting for the rate limit of creates restarts that time.

// Queued restarts the time of claims that wait for the rate limit.
func (i cluster) Queued(ctx context.Context, uids []string) error {
	for _, uid := range uids {
		nc, err := nodeclaim.ByUID(ctx, i.cfg.Client, uid)
		if err == nil {
			err = i.renew(ctx, nc)
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// renew restarts the time that Karpenter gives a claim to register.
func (i *Machines) renew(ctx context.Context, nc *karpv1.NodeClaim) error {
	extended, err := nodeclaim.Extend(ctx, i.cfg.Client, nc)
	if err != nil {
		return fmt.Errorf("give NodeClaim %s more time: %w", nc.Name, err)
	}
	if extended {
		i.cfg.Events.Eventf(nc, nil, corev1.EventTypeNormal, "QueuedAtLinode", "Launch",
			"the NodeClaim is queued: Linode creates at most 20 Linodes in 15 seconds")
	}
	return nil
}
