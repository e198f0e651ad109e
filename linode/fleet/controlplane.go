package fleet

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// ControlPlane knows the Kubernetes version of an LKE cluster's control plane. It
// is safe for concurrent use.
type ControlPlane struct {
	api     ClusterAPI
	cluster int
	types   *instancetype.Set
	log     *slog.Logger

	mu      sync.Mutex
	version string    // "" on standard clusters
	asked   time.Time // when the version was last asked for
}

// ClusterAPI describes clusters; lkeapi.Client is one.
type ClusterAPI interface {
	Cluster(ctx context.Context, id int) (lkeapi.Cluster, error)
}

// NewControlPlane returns the control plane of a cluster as the API described it
// a moment ago. New versions are set on the types.
func NewControlPlane(api ClusterAPI, cluster lkeapi.Cluster, types *instancetype.Set, log *slog.Logger) *ControlPlane {
	c := &ControlPlane{api: api, cluster: cluster.ID, types: types, log: log}
	if catalog.Tier(cluster.Tier) == catalog.Enterprise {
		c.version, c.asked = cluster.K8sVersion, time.Now()
	}
	return c
}

// Version is the Kubernetes version of the control plane that new pools get; ""
// on standard clusters, where pools have none of their own.
func (c *ControlPlane) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// refresh asks for the version where the last answer is ten minutes old. It
// changes when somebody upgrades the cluster.
func (c *ControlPlane) refresh(ctx context.Context) {
	const every = 10 * time.Minute
	c.mu.Lock()
	due := c.version != "" && time.Since(c.asked) >= every
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
	c.log.Info("the control plane was upgraded; new nodes get its version", "from", c.version, "to", cluster.K8sVersion)
	c.version = cluster.K8sVersion
	c.types.SetVersion(cluster.K8sVersion)
}
