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
	asked   time.Time // time of the last request for the version
}

// ClusterAPI describes clusters; api.Client implements it.
type ClusterAPI interface {
	Cluster(ctx context.Context, id int) (api.Cluster, error)
}

// NewControlPlane returns the control plane of a cluster that the API has just described. It sets new versions on
// types.
func NewControlPlane(api ClusterAPI, cluster api.Cluster, types *instancetype.Set, log *slog.Logger) *ControlPlane {
	return &ControlPlane{
		api: api, cluster: cluster.ID, types: types, log: log, upgrades: make(chan event.GenericEvent, 1),
		version: cluster.K8sVersion, asked: time.Now(),
	}
}

// Version returns the Kubernetes version of the control plane: 1.34 on standard clusters, v1.34.1+lke2 on
// Enterprise.
func (c *ControlPlane) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Upgrades returns a channel that receives after each change of the version, with at most one pending event. It has
// one reader.
func (c *ControlPlane) Upgrades() <-chan event.GenericEvent { return c.upgrades }

// refresh requests the version if the last answer is a minute old. The version changes when a user, or Linode,
// upgrades the cluster.
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
		return // keep the old version until the next time
	}
	c.log.Info("the control plane was upgraded", "from", c.version, "to", cluster.K8sVersion)
	c.version = cluster.K8sVersion
	c.types.SetVersion(cluster.K8sVersion)
	select {
	case c.upgrades <- event.GenericEvent{Object: &linodev1alpha1.LinodeNodeClass{}}:
	default: // the pending event covers this change as well
	}
}
