package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Config is what a simulated account is like. The zero value is a standard cluster in us-ord where everything
// happens at once; [New] fills in what is left empty.
type Config struct {
	// WithoutCluster leaves out the first cluster: all Linodes of the account are made one by one. Region and
	// KubernetesVersion are theirs then.
	WithoutCluster bool
	// Tier, Region, ClusterLabel, ClusterID and KubernetesVersion describe the first cluster of the account. Tier is
	// "standard" or "enterprise". The id comes from Seed where it is 0.
	Tier              string
	Region            string
	ClusterLabel      string
	ClusterID         int
	KubernetesVersion string

	// Versions are the builds that LKE Enterprise offers the account, newest first; nil is a default list, and the
	// cluster's build. They are per account and rotate within hours: where the cluster's own build is not among them, a
	// pool that names it is refused. (Seen for clusters; that pools are refused as well is an assumption.)
	Versions []string

	// MemoryKept is how many percent of a plan's memory pods cannot use on nodes of LKE Enterprise, of plans of
	// up to 8 GB; 25 where it is 0: Akamai's landing zone has about 6 GiB of 8 (2026-08).
	MemoryKept int

	// Token is the bearer token that is accepted; "" accepts any, and none. Scopes is what it may do, as
	// X-OAuth-Scopes spells it ("lke:read_write linodes:read_only"); "" is "*".
	Token  string
	Scopes string

	// InstanceDelay is from a slot to its instance, JoinDelay from an instance to its Node object, CCMDelay from there
	// to its providerID, DeleteDelay from a delete call to the instance being gone, and ListDelay how long a pool
	// on Enterprise does not list a new node. Of real LKE they were never measured: logs and documents speak of seconds,
	// one to one and a half minutes, seconds (the cloud controller's cache), a quarter and three quarters of a minute.
	InstanceDelay time.Duration
	JoinDelay     time.Duration
	CCMDelay      time.Duration
	DeleteDelay   time.Duration
	ListDelay     time.Duration
	// NodeGoneDelay is from an instance being gone to the cloud controller deleting its Node object.
	NodeGoneDelay time.Duration
	// EventDelay is from an event to the list that shows it. ClockAhead is how much later it is by the API's clock than
	// here, negative for earlier: the Date of answers and the time of events are by that clock.
	EventDelay time.Duration
	ClockAhead time.Duration
	// Jitter spreads each of these delays by that fraction in both directions: with 0.2 a delay of 10 s takes 8 to
	// 12 s. 0 makes them exact.
	Jitter float64

	// RecycleNewSlots makes a recycled node one with another id, instead of another instance in the same slot. Which of
	// the two real LKE does is not known.
	RecycleNewSlots bool

	// FaultRate is the share of calls that fail, from 0 to 1: refused with 503, done and answered with 500, or, where they
	// change something, answered with 504 and done 20 s afterwards.
	FaultRate float64

	// PoolSyncPeriod is how often LKE puts a pool's labels and taints back on its nodes; 10 s where it is 0.
	PoolSyncPeriod time.Duration

	// Seed decides ids, jitter and which nodes a shrinking pool loses: the same seed and the same calls give the same
	// answers.
	Seed uint64

	// RateLimit is the calls per minute that are answered before 429.
	RateLimit RateLimit

	// MaxInstances is the account's limit; 0 is none.
	MaxInstances int

	// Capabilities are those of the account; without "NETINT Quadra T1U" it is sold no accelerated plan.
	Capabilities []string

	// Assets are the objects of the account that Linodes are created with, in addition to the public images and one user.
	Assets AssetSet

	// Breaks are the assumptions that the account makes false: see [Breakable].
	Breaks []string

	// Catalog holds plans, regions and prices; nil is the embedded one.
	Catalog *catalog.Catalog
}

// withDefaults fills in what is empty and refuses what cannot be.
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

// cluster is the first cluster.
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

// versions are the Kubernetes versions on offer, newest first. Those of the standard tier and the older ones of
// Enterprise are in recorded answers; the newest of Enterprise is spelt after an example in the documentation.
func versions(tier catalog.Tier) []string {
	if tier == catalog.Enterprise {
		return []string{"v1.33.6+lke7", "v1.31.8+lke1", "v1.31.1+lke4"}
	}
	return []string{"1.35", "1.34", "1.33", "1.32", "1.31"}
}

// versions are those that the account is offered.
func (st *state) versions(tier catalog.Tier) []string {
	if tier == catalog.Enterprise && st.cfg.Versions != nil {
		return st.cfg.Versions
	}
	ids := versions(tier)
	if own := st.cfg.KubernetesVersion; tier == catalog.Tier(st.cfg.Tier) && !slices.Contains(ids, own) {
		ids = append([]string{own}, ids...)
	}
	return ids
}

// offers also knows the version that the cluster has, which may have come from the configuration.
func (st *state) offers(cl *cluster, version string) bool {
	if cl.Tier == catalog.Enterprise && st.cfg.Versions != nil {
		return slices.Contains(st.cfg.Versions, version)
	}
	return version == cl.KubernetesVersion || slices.Contains(versions(cl.Tier), version)
}

func sameMinor(a, b string) bool {
	v, _ := catalog.ParseVersion(a)
	w, _ := catalog.ParseVersion(b)
	return v.Minor() == w.Minor()
}

func newestVersion(tier catalog.Tier) string { return versions(tier)[0] }

// version is the one that a machine is created of, and keeps until it is recycled: its pool's on Enterprise, else the
// control plane's, which may have been upgraded since the pool's other machines were created.
//
// Unverified: that a control plane does not go back, and that pools are not ahead of it; what Kubernetes supports
// suggests it.
func (p *pool) version() string {
	if p.EnterpriseFields != nil {
		return p.EnterpriseFields.KubernetesVersion
	}
	return p.cluster.KubernetesVersion
}

// kubeletVersion is the version that a kubelet reports: "1.35" runs 1.35.1, as recorded.
func kubeletVersion(version string) string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	if strings.Count(version, ".") == 1 {
		version += ".1"
	}
	return "v" + version
}
