// Package instances gets machines as Linodes of their own, which join a cluster that its
// owners run by themselves: instance mode. It stands behind linode's Orders, Machines and
// Rules, where package linode's LKE stands for clusters of LKE.
//
// Package machines decides which Linodes to make and to delete, and machines/carry carries it
// out; here is what they are made from, and what they have to do with NodeClaims and Nodes.
// It knows no LKE pool, and chooses no plan type.
package instances

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/claims"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
	"github.com/lkeplan/lkeplan/linode/machines"
	"github.com/lkeplan/lkeplan/linode/machines/carry"
	"github.com/lkeplan/lkeplan/linode/machines/placement"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// API is what is asked of Linode; lkeapi.Client is one.
type API interface {
	carry.Linode
	placement.Linode
	TagInstance(ctx context.Context, id int, tags []string) error
}

// Config is what Instances are made from.
type Config struct {
	Client   client.Client // has the indexes of nodeclaim.Index, and Karpenter's
	Live     client.Reader // asks the API server itself
	API      API
	Identity Identity
	Types    *instancetype.Set
	Joins    Joins
	Timing   Timing
	Events   events.EventRecorder
	Log      *slog.Logger
}

// Timing holds delays. A zero field means its default, which the comment names.
type Timing struct {
	Quick      time.Duration // 2s: between lists while somebody waits
	Idle       time.Duration // 1m: between lists while nobody does
	Keep       time.Duration // 10m: how long a machine or a placement group may stay that nobody owns
	NoCapacity time.Duration // 3m: how long a plan type without capacity is not offered
	Late       time.Duration // 2m: how long after it was sent a call without an answer may be done
}

// Instances are the Linodes of one cluster. They run as long as their process leads.
type Instances struct {
	cfg     Config
	claims  claims.Writer
	nodes   *claims.Nodes
	carrier *carry.Carrier
	pools   *placement.Groups // of NodePools
	tagging sync.Mutex        // held while tags are set
	metrics *metrics

	asking sync.Mutex // held while Linode is asked for a list, for all who want one

	mu    sync.Mutex // guards the rest
	last  []lkeapi.Instance
	asked time.Time // when Linode was asked for them; zero before the first answer
	told  map[string]time.Time
}

// New returns the Linodes of a cluster.
func New(cfg Config) *Instances {
	i := &Instances{
		cfg: cfg, claims: claims.Writer{Client: cfg.Client, Events: cfg.Events}, nodes: claims.NewNodes(cfg.Client),
		told: map[string]time.Time{}, metrics: newMetrics(),
	}
	or := func(d, otherwise time.Duration) time.Duration {
		if d == 0 {
			return otherwise
		}
		return d
	}
	i.cfg.Timing.NoCapacity = or(cfg.Timing.NoCapacity, 3*time.Minute)
	keep := or(cfg.Timing.Keep, 10*time.Minute)
	i.pools = placement.New(placement.Config{
		Linode: cfg.API, Cluster: cfg.Identity.Tag(), Size: groupSize, Keep: keep, Needed: i.neededGroups, Log: cfg.Log,
	})
	i.carrier = carry.New(carry.Config{
		Linode: closer{cfg.API, cfg.Types}, Cluster: cluster{i}, Tag: cfg.Identity.Tag(), Log: cfg.Log,
		Listed: i.listed, Refused: i.refused, Undeleted: i.undeleted, Held: i.held, Queued: i.beat,
		Policy: machines.Policy{
			Cluster: cfg.Identity.Name, Keep: keep,
			// Unverified: that Linode does no call later.
			Late:  or(cfg.Timing.Late, 2*time.Minute),
			Burst: 20, Window: 15 * time.Second, // the API's documented limit of new Linodes
			Quick: or(cfg.Timing.Quick, 2*time.Second), Idle: or(cfg.Timing.Idle, time.Minute),
		},
	})
	return i
}

// Start makes and deletes Linodes and placement groups until ctx ends, and returns when the
// calls that were under way have ended. It implements manager.Runnable.
func (i *Instances) Start(ctx context.Context) error {
	var groups sync.WaitGroup
	groups.Go(func() { i.pools.Run(ctx) })
	i.carrier.Run(ctx)
	groups.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (i *Instances) NeedLeaderElection() bool { return true }

// Release implements linode.Machines.
func (i *Instances) Release(uid string) (gone bool) { return i.carrier.Release(uid) }

// Get implements linode.Machines. A machine is gone when Linode says so of that very one: a
// list may lack one that is there.
func (i *Instances) Get(ctx context.Context, instance int) (*karpv1.NodeClaim, error) {
	all, err := i.recently(ctx, 2*time.Second)
	if found := byID(all, instance); found != nil {
		return i.claimOf(*found), nil // also where Linode does not answer any more
	}
	if err != nil {
		return nil, err
	}
	there, err := i.there(ctx, instance)
	switch {
	case err != nil:
		return nil, err
	case there == nil:
		return nil, cloudprovider.NewNodeClaimNotFoundError(
			fmt.Errorf("the account has no Linode %d of this cluster", instance))
	}
	return i.claimOf(*there), nil
}

// there asks for one Linode of the cluster; nil if there surely is none. One that has lost its tag
// and its label is there: without its drain its pods would run twice.
func (i *Instances) there(ctx context.Context, instance int) (*lkeapi.Instance, error) {
	found, err := i.cfg.API.Instance(lkeapi.Patient(ctx), instance)
	switch {
	case lkeapi.ClassOf(err) == lkeapi.ClassNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case !lkeapi.Tagged(found, i.cfg.Identity.Tag()) && !i.cfg.Identity.IsNode(found.Label):
		return nil, fmt.Errorf("the Linode %d has neither the tag %s nor a label of the cluster any more: it has the label %s",
			instance, i.cfg.Identity.Tag(), found.Label)
	}
	return &found, nil
}

// List implements linode.Machines. Of a claim's machine that the list lacks Linode is asked:
// Karpenter deletes a registered claim whose machine is missing here and whose Node is not
// ready.
func (i *Instances) List(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	all, err := i.recently(ctx, 10*time.Second)
	if err != nil {
		return nil, err
	}
	var list karpv1.NodeClaimList
	if err := i.cfg.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	for k := range list.Items {
		instance := nodeclaim.InstanceOf(list.Items[k].Status.ProviderID)
		if instance == 0 || !nodeclaim.Managed(&list.Items[k]) || byID(all, instance) != nil {
			continue
		}
		if there, err := i.there(ctx, instance); err != nil {
			return nil, err
		} else if there != nil {
			all = append(slices.Clone(all), *there)
		}
	}
	machines := make([]*karpv1.NodeClaim, 0, len(all))
	for _, one := range all {
		machines = append(machines, i.claimOf(one))
	}
	return machines, nil
}

// Missing reports whether the last list lacked a Linode.
func (i *Instances) Missing(instance int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.asked.IsZero() && byID(i.last, instance) == nil
}

// recently returns the Linodes of the cluster as they were shown a while ago at most. With an
// error they are those that were shown last.
func (i *Instances) recently(ctx context.Context, ago time.Duration) ([]lkeapi.Instance, error) {
	i.asking.Lock()
	defer i.asking.Unlock()
	i.mu.Lock()
	last, asked := i.last, i.asked
	i.mu.Unlock()
	if time.Since(asked) < ago {
		return last, nil
	}
	ctx, cancel := context.WithTimeout(lkeapi.Patient(ctx), 30*time.Second)
	defer cancel()
	asked = time.Now()
	all, err := i.cfg.API.Instances(ctx, i.cfg.Identity.Tag())
	if err != nil {
		return last, err
	}
	i.listed(asked, all)
	return all, nil
}

// listed takes over a list of the carrier's.
func (i *Instances) listed(asked time.Time, all []lkeapi.Instance) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if asked.After(i.asked) {
		i.last, i.asked = all, asked
		i.metrics.listed.WithLabelValues().Set(float64(asked.UnixMilli()) / 1000)
	}
}

func byID(all []lkeapi.Instance, id int) *lkeapi.Instance {
	if k := slices.IndexFunc(all, func(i lkeapi.Instance) bool { return i.ID == id }); k >= 0 {
		return &all[k]
	}
	return nil
}

// claimOf describes a Linode as a NodeClaim.
func (i *Instances) claimOf(one lkeapi.Instance) *karpv1.NodeClaim {
	nc := &karpv1.NodeClaim{}
	nc.Name = one.Label
	if plan, ok := i.cfg.Types.Plan(one.Type); ok {
		nc.Labels = instancetype.Labels(plan, i.cfg.Types.Region())
		nc.Status.Capacity = instancetype.Capacity(plan, catalog.Instances)
	}
	nc.Status.ProviderID, nc.Status.NodeName = nodeclaim.LinodeID(one.ID), one.Label
	return nc
}
