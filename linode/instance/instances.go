// Package instance implements instance mode: machines are separate Linodes that join a cluster outside LKE.
// It implements linode's Orders, Machines and Rules, as package lke does for LKE. Package instance/decide
// decides which Linodes to create and to delete, and a syncer carries out its decisions. The rest of the
// package defines how Linodes are created and how they relate to NodeClaims and Nodes. The package does not
// choose plan types.
package instance

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/loop"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// API is the part of the Linode API that the package uses; api.Client implements it.
type API interface {
	linodes
	placementAPI
	InstancesNamed(ctx context.Context, part string) ([]api.Instance, error)
	TagInstance(ctx context.Context, id int, tags []string) error
}

// Config configures Machines.
type Config struct {
	Client   client.Client // has the indexes of nodeclaim.Index, and Karpenter's
	Live     client.Reader // reads from the API server, without a cache
	API      API
	Identity Identity
	Types    *instancetype.Set
	Joins    Joins
	Timing   loop.Timing
	Events   events.EventRecorder
	Log      *slog.Logger
}

// Machines are the Linodes of one cluster. They run as long as their process is the leader.
type Machines struct {
	cfg     Config
	claims  nodeclaim.Writer
	nodes   *nodeclaim.Nodes
	syncer  *syncer
	pools   *placementGroups   // of NodePools
	tagging sync.Mutex         // held while tags are set
	metrics *nodeclaim.Metrics // only the syncer sets its gauges
	joins   *prometheus.CounterVec

	list *loop.List[[]api.Instance]

	mu       sync.Mutex // guards the rest
	notified map[string]time.Time
	unjoined map[string]unjoined // by claim
	untagged []api.Instance
}

// New returns the Linodes of a cluster.
func New(cfg Config) *Machines {
	i := &Machines{
		cfg: cfg, claims: nodeclaim.Writer{Client: cfg.Client, Events: cfg.Events}, nodes: nodeclaim.NewNodes(cfg.Client),
		notified: map[string]time.Time{}, unjoined: map[string]unjoined{}, metrics: newMetrics(), joins: newJoinFailures(),
	}
	i.list = loop.NewList[[]api.Instance](cfg.Log, func(ctx context.Context) error {
		asked := time.Now()
		all, err := cfg.API.Instances(api.LowPriority(ctx), cfg.Identity.Tag())
		if err == nil {
			i.listed(asked, all)
		}
		return err
	})
	timing := cfg.Timing.WithDefaults()
	i.cfg.Timing = timing
	i.pools = newPlacementGroups(placementConfig{
		Linode: cfg.API, Cluster: cfg.Identity.Tag(), Keep: timing.Keep, Needed: i.neededGroups, Log: cfg.Log,
	})
	i.syncer = newSyncer(syncerConfig{
		Linode: closer{cfg.API, cfg.Types}, Cluster: cluster{i}, Tag: cfg.Identity.Tag(), Log: cfg.Log,
		Policy: decide.Policy{
			Cluster: cfg.Identity.Name, Keep: timing.Keep,
			// Unverified: that Linode does no call later.
			Late:  timing.Late,
			Burst: 20, Window: 15 * time.Second, // the API's documented limit of new Linodes
			Quick: timing.Quick, Idle: timing.Idle,
		},
	})
	return i
}

// Start creates and deletes Linodes and placement groups until ctx ends, and returns after the calls in
// progress have ended. It implements manager.Runnable.
func (i *Machines) Start(ctx context.Context) error {
	var groups sync.WaitGroup
	groups.Go(func() { i.pools.Run(ctx) })
	groups.Go(func() {
		loop.Every(ctx, i.cfg.Log, untaggedEvery, "look for Linodes that have lost their tag", i.findUntagged)
	})
	i.syncer.Run(ctx)
	groups.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (i *Machines) NeedLeaderElection() bool { return true }

// Release implements linode.Machines.
func (i *Machines) Release(uid string) (gone bool) { return i.syncer.Release(uid) }

// Get implements linode.Machines. A machine is gone only if Linode does not know its id, because a list may lack a
// machine that exists.
func (i *Machines) Get(ctx context.Context, instance int) (*karpv1.NodeClaim, error) {
	all, err := i.list.Since(ctx, time.Now().Add(-2*time.Second))
	if err != nil {
		all, _ = i.list.Last() // the last list is a better answer than none
	}
	if found := byID(all, instance); found != nil {
		return i.claimOf(*found), nil
	}
	if err != nil {
		return nil, err
	}
	there, err := i.getLinode(ctx, instance)
	switch {
	case err != nil:
		return nil, err
	case there == nil:
		return nil, cloudprovider.NewNodeClaimNotFoundError(
			fmt.Errorf("the account has no Linode %d of this cluster", instance))
	}
	return i.claimOf(*there), nil
}

// getLinode returns one Linode of the cluster; nil if it certainly does not exist. A Linode that has lost its tag and
// its label still exists: if it counted as gone, its pods would run twice.
func (i *Machines) getLinode(ctx context.Context, instance int) (*api.Instance, error) {
	found, err := i.cfg.API.Instance(api.LowPriority(ctx), instance)
	switch {
	case api.ClassOf(err) == api.ClassNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case !api.Tagged(found, i.cfg.Identity.Tag()) && !i.cfg.Identity.IsNode(found.Label):
		return nil, fmt.Errorf("the Linode %d has neither the tag %s nor a label of the cluster any more: it has the "+
			"label %s",
			instance, i.cfg.Identity.Tag(), found.Label)
	}
	return &found, nil
}

// List implements linode.Machines. It requests machines of claims that the list lacks one by one: Karpenter deletes
// a registered claim if its machine is missing here and its Node is not ready.
func (i *Machines) List(ctx context.Context) ([]*karpv1.NodeClaim, error) {
	all, err := i.list.Since(ctx, time.Now().Add(-10*time.Second))
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
		if there, err := i.getLinode(ctx, instance); err != nil {
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

// PlanType implements Shown, from the last list.
func (i *Machines) PlanType(ctx context.Context, instance int) (string, error) {
	all, err := i.list.Since(ctx, time.Time{})
	if err != nil {
		return "", fmt.Errorf("list the Linodes: %w", err)
	}
	if found := byID(all, instance); found != nil {
		return found.Type, nil
	}
	return "", nil
}

func (i *Machines) listed(asked time.Time, all []api.Instance) {
	if i.list.Put(asked, all) {
		i.metrics.Listed(asked)
	}
}

func byID(all []api.Instance, id int) *api.Instance {
	if k := slices.IndexFunc(all, func(i api.Instance) bool { return i.ID == id }); k >= 0 {
		return &all[k]
	}
	return nil
}

// claimOf describes a Linode as a NodeClaim.
func (i *Machines) claimOf(one api.Instance) *karpv1.NodeClaim {
	nc := &karpv1.NodeClaim{}
	nc.Name = one.Label
	if plan, ok := i.cfg.Types.Plan(one.Type); ok {
		nc.Labels = instancetype.Labels(plan, i.cfg.Types.Region())
		nc.Status.Capacity = instancetype.Capacity(plan, catalog.Instances)
	}
	nc.Status.ProviderID, nc.Status.NodeName = nodeclaim.LinodeID(one.ID), one.Label
	return nc
}
