package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Config describes a simulated account. The zero value is a standard cluster in us-ord in which everything happens
// immediately; [New] fills in empty fields.
type Config struct {
	// WithoutCluster creates no first cluster: all Linodes of the account are created separately. Region and
	// KubernetesVersion are theirs then.
	WithoutCluster bool
	// Tier, Region, ClusterLabel, ClusterID and KubernetesVersion describe the first cluster of the account. Tier
	// is "standard" or "enterprise". If the id is 0, it is derived from Seed.
	Tier              string
	Region            string
	ClusterLabel      string
	ClusterID         int
	KubernetesVersion string

	// Versions are the builds that LKE Enterprise offers the account, newest first; nil means a default list, and
	// the cluster's build. They differ between accounts and change within hours. A pool that requests a build that
	// is not among them is refused, even if it is the cluster's own. (Observed for clusters; that pools are refused
	// as well is an assumption.)
	Versions []string

	// MemoryKept is the percentage of a plan's memory that pods cannot use on nodes of LKE Enterprise, for plans of
	// up to 8 GB; 0 means 25: Akamai's landing zone has about 6 GiB of 8 (2026-08).
	MemoryKept int

	// Token is the only accepted bearer token; "" accepts any, and none. Scopes are its scopes in the format of
	// X-OAuth-Scopes ("lke:read_write linodes:read_only"); "" means "*".
	Token  string
	Scopes string

	// InstanceDelay is the time from a slot to its instance, JoinDelay from an instance to its Node object,
	// CCMDelay from there to its providerID, DeleteDelay from a delete call to the end of the instance, and
	// ListDelay how long a pool on Enterprise does not list a new node. They were never measured on real LKE: logs
	// and documents speak of seconds, one to one and a half minutes, seconds (the cloud controller's cache), a
	// quarter and three quarters of a minute.
	InstanceDelay time.Duration
	JoinDelay     time.Duration
	CCMDelay      time.Duration
	DeleteDelay   time.Duration
	ListDelay     time.Duration
	// NodeGoneDelay is the time from the end of an instance until the cloud controller deletes its Node object.
	NodeGoneDelay time.Duration
	// EventDelay is the time until the list shows an event. ClockAhead is how far the API's clock is ahead of this
	// one; it can be negative. The Date of answers and the time of events are by the API's clock.
	EventDelay time.Duration
	ClockAhead time.Duration
	// Jitter varies each of these delays at random by up to this fraction: with 0.2 a delay of 10 s takes 8 to 12
	// s. 0 makes them exact.
	Jitter float64

	// RecycleNewSlots gives a recycled node a slot with another id, instead of another instance in the same slot.
	// It is unknown which of the two real LKE does.
	RecycleNewSlots bool

	// FaultRate is the share of calls that fail, from 0 to 1. They are refused with 503, carried out and answered
	// with 500, or, if they change something, answered with 504 and carried out 20 s later.
	FaultRate float64

	// PoolSyncPeriod is how often LKE restores a pool's labels and taints on its nodes; 0 means 10 s.
	PoolSyncPeriod time.Duration

	// Seed determines ids, jitter and which nodes a shrinking pool loses: the same seed and the same calls have the
	// same answers.
	Seed uint64

	// RateLimit is the number of calls per minute before an answer of 429.
	RateLimit RateLimit

	// MaxInstances is the account's limit; 0 means none.
	MaxInstances int

	// Capabilities are the account's capabilities. Accelerated plans need "NETINT Quadra T1U".
	Capabilities []string

	// Assets are the objects of the account from which Linodes are created, in addition to the public images and
	// one user.
	Assets AssetSet

	// Breaks are the assumptions that the account makes false: see [Breakable].
	Breaks []string

	// Kubeconfig is the answer to a call for the kubeconfig of the cluster whose nodes RunNodes simulates; nil means
	// that it is not ready yet.
	Kubeconfig []byte

	// Catalog has plans, regions and prices; nil means the embedded one.
	Catalog *catalog.Catalog
}

// withDefaults fills in empty fields and rejects invalid ones.
func (c Config) withDefaults() (Config, error) {
	if c.Catalog == nil {
		embedded, err := catalog.Embedded()
		if err != nil {
			return c, err
		}
		c.Catalog = embedded
	}
	c.Tier = cmp.Or(c.Tier, string(catalog.Standard))
	c.Region = cmp.Or(c.Region, "us-ord")
	c.ClusterLabel = cmp.Or(c.ClusterLabel, "lkeplan")
	c.KubernetesVersion = cmp.Or(c.KubernetesVersion, newestVersion(catalog.Tier(c.Tier)))
	c.Scopes = cmp.Or(c.Scopes, "*")
	c.PoolSyncPeriod = cmp.Or(c.PoolSyncPeriod, 10*time.Second)
	c.MemoryKept = cmp.Or(c.MemoryKept, 25)
	return c, c.check()
}

// cluster returns the first cluster.
func (c Config) cluster() Cluster {
	return Cluster{
		ID: c.ClusterID, Label: c.ClusterLabel, Region: c.Region, KubernetesVersion: c.KubernetesVersion,
		Tier: catalog.Tier(c.Tier),
	}
}

func (c Config) check() error {
	if c.Tier != string(catalog.Standard) && c.Tier != string(catalog.Enterprise) {
		return fmt.Errorf("tier %q: want standard or enterprise", c.Tier)
	}
	r, ok := c.Catalog.Region(c.Region)
	if !ok {
		return fmt.Errorf("region %q: not in the catalog", c.Region)
	}
	capability := catalog.Tier(c.Tier).Capability()
	if c.WithoutCluster {
		capability = catalog.CapLinodes
	}
	if !r.Has(capability) {
		return fmt.Errorf("region %q: has no %s", c.Region, capability)
	}
	delays := []time.Duration{
		c.InstanceDelay, c.JoinDelay, c.CCMDelay, c.DeleteDelay, c.ListDelay, c.NodeGoneDelay, c.PoolSyncPeriod,
		c.EventDelay,
	}
	if slices.Min(delays) < 0 {
		return fmt.Errorf("a delay is negative")
	}
	if c.FaultRate < 0 || c.FaultRate > 1 {
		return fmt.Errorf("fault rate %v: want 0 to 1", c.FaultRate)
	}
	if c.MemoryKept < 0 || c.MemoryKept > 90 {
		return fmt.Errorf("memory kept %d: want 0 to 90 percent", c.MemoryKept)
	}
	if c.Jitter < 0 || c.Jitter > 1 {
		return fmt.Errorf("jitter %v: want 0 to 1", c.Jitter)
	}
	for _, name := range c.Breaks {
		if !slices.Contains(Breakable(), name) {
			return fmt.Errorf("assumption %q: want one of %s", name, strings.Join(Breakable(), ", "))
		}
	}
	return nil
}

// offeredVersions returns the offered Kubernetes versions, newest first. Those of the standard tier and the older
// ones of Enterprise are in recorded answers; the newest one of Enterprise has the form of an example in the
// documentation.
func offeredVersions(tier catalog.Tier) []string {
	if tier == catalog.Enterprise {
		return []string{"v1.33.6+lke7", "v1.31.8+lke1", "v1.31.1+lke4"}
	}
	return []string{"1.35", "1.34", "1.33", "1.32", "1.31"}
}

// versions returns the versions that the account is offered.
func (st *state) versions(tier catalog.Tier) []string {
	if tier == catalog.Enterprise && st.cfg.Versions != nil {
		return st.cfg.Versions
	}
	ids := offeredVersions(tier)
	if own := st.cfg.KubernetesVersion; tier == catalog.Tier(st.cfg.Tier) && !slices.Contains(ids, own) {
		ids = append([]string{own}, ids...)
	}
	return ids
}

// offers reports whether a version is offered. It includes the cluster's own version, which may come from the
// configuration.
func (st *state) offers(cl *cluster, version string) bool {
	if cl.Tier == catalog.Enterprise && st.cfg.Versions != nil {
		return slices.Contains(st.cfg.Versions, version)
	}
	return version == cl.KubernetesVersion || slices.Contains(offeredVersions(cl.Tier), version)
}

func sameMinor(a, b string) bool {
	v, _ := catalog.ParseVersion(a)
	w, _ := catalog.ParseVersion(b)
	return v.Minor() == w.Minor()
}

func newestVersion(tier catalog.Tier) string { return offeredVersions(tier)[0] }

// version returns the version with which a machine is created, and which it keeps until it is recycled: its pool's
// on Enterprise, else the control plane's, which may have been upgraded since the pool's other machines were
// created.
//
// Unverified: that a control plane does not go back, and that pools are not ahead of it; what Kubernetes supports
// suggests it.
func (p *pool) version() string {
	if p.EnterpriseFields != nil {
		return p.EnterpriseFields.KubernetesVersion
	}
	return p.cluster.KubernetesVersion
}

// kubeletVersion returns the version that a kubelet reports: "1.35" runs 1.35.1, as recorded.
func kubeletVersion(version string) string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	if strings.Count(version, ".") == 1 {
		version += ".1"
	}
	return "v" + version
}
