package lke

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// ControlPlane knows the Kubernetes version of an LKE cluster's control plane. It
// is safe for concurrent use.
type ControlPlane struct {
	api      ClusterAPI
	cluster  int
	types    *instancetype.Set
	log      *slog.Logger
	upgrades chan event.GenericEvent

	mu      sync.Mutex
	version string
	asked   time.Time // when the version was last asked for
}

// ClusterAPI describes clusters; api.Client is one.
type ClusterAPI interface {
	Cluster(ctx context.Context, id int) (api.Cluster, error)
}

// NewControlPlane returns the control plane of a cluster as the API described it
// a moment ago. New versions are set on the types.
func NewControlPlane(api ClusterAPI, cluster api.Cluster, types *instancetype.Set, log *slog.Logger) *ControlPlane {
	return &ControlPlane{
		api: api, cluster: cluster.ID, types: types, log: log, upgrades: make(chan event.GenericEvent, 1),
		version: cluster.K8sVersion, asked: time.Now(),
	}
}

// Version is the Kubernetes version of the control plane: 1.34 on standard
// clusters, v1.34.1+lke2 on Enterprise.
func (c *ControlPlane) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Upgrades has an event after each change of the version, one at most. It has one
// reader.
func (c *ControlPlane) Upgrades() <-chan event.GenericEvent { return c.upgrades }

// refresh asks for the version where the last answer is a minute old. It changes
// when a person, or Linode, upgrades the cluster.
func (c *ControlPlane) refresh(ctx context.Context) {
	const every = time.Minute
	c.mu.Lock()
	due := time.Since(c.asked) >= every
	c.mu.Unlock()
	if !due {
		return
	}
	cluster, err := c.api.Cluster(ctx, c.cluster)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = time.Now()
	if err != nil || cluster.K8sVersion == "" || cluster.K8sVersion == c.version {
		return // the old version will do until the next time
	}
	c.log.Info("the control plane was upgraded", "from", c.version, "to", cluster.K8sVersion)
	c.version = cluster.K8sVersion
	c.types.SetVersion(cluster.K8sVersion)
	select {
	case c.upgrades <- event.GenericEvent{Object: &linodev1alpha1.LinodeNodeClass{}}:
	default: // the one that is waiting is about this change, too
	}
}
