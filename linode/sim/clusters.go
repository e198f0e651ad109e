package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"github.com/linode/linodego"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func (st *state) cluster(q *request) *cluster { return st.clusters[q.id("cluster")] }

// listClusters answers GET /lke/clusters.
func (st *state) listClusters(q *request) (any, error) {
	return listPage(q, viewsOf(byID(st.clusters), (*cluster).view))
}

// getCluster answers GET /lke/clusters/{cluster}.
func (st *state) getCluster(c *cluster, _ *request) (any, error) { return c.view(), nil }

// getKubeconfig answers GET /lke/clusters/{cluster}/kubeconfig.
func (st *state) getKubeconfig(c *cluster, _ *request) (any, error) {
	if st.cfg.Kubeconfig == nil || !st.cfg.WithoutCluster && c.ID != st.cfg.ClusterID {
		return nil, refusalError(http.StatusServiceUnavailable, "",
			"Cluster kubeconfig is not yet available. Please try again later.")
	}
	return map[string][]byte{"kubeconfig": st.cfg.Kubeconfig}, nil // in base64, as all bytes in JSON
}

// clusterSpec is the body of a POST or PUT of a cluster; nil means that a field is missing.
type clusterSpec struct {
	Label        *string                          `json:"label"`
	Region       string                           `json:"region"`
	Version      *string                          `json:"k8s_version"`
	Tier         catalog.Tier                     `json:"tier"`
	Tags         *[]string                        `json:"tags"`
	ControlPlane *linodego.LKEClusterControlPlane `json:"control_plane"`
	NodePools    []poolSpec                       `json:"node_pools"`
}

// createCluster creates a cluster. lkeplan does not need it, but each recording begins with it.
func (st *state) createCluster(q *request) (any, error) {
	var spec clusterSpec
	if err := q.read(&spec); err != nil {
		return nil, err
	}
	draft := &cluster{Cluster: Cluster{
		Label: ptr.Deref(spec.Label, ""), Region: spec.Region, KubernetesVersion: ptr.Deref(spec.Version, ""),
		Tier: cmp.Or(spec.Tier, catalog.Standard), Tags: sortedTags(ptr.Deref(spec.Tags, nil)),
	}}
	var c requestChecker
	st.checkCluster(&c, draft)
	st.checkPools(&c, draft, spec.NodePools)
	if err := c.error(); err != nil {
		return nil, err
	}
	made := st.addCluster(draft.Cluster, q.now)
	for _, pool := range spec.NodePools {
		st.grow(st.addPool(made, pool), *pool.Count, q.now)
	}
	return made.view(), nil
}

var clusterLabel = regexp.MustCompile(`^[a-zA-Z0-9-]{3,32}$`)

func (st *state) checkCluster(c *requestChecker, cl *cluster) {
	c.must(clusterLabel.MatchString(cl.Label), "label", "Length must be 3-32 characters: letters, digits and hyphens")
	c.must(cl.Tier == catalog.Standard || cl.Tier == catalog.Enterprise, "tier", "Must be standard or enterprise")
	r, ok := st.cfg.Catalog.Region(cl.Region)
	c.must(ok && r.Has(cl.Tier.Capability()), "region", "region is not valid")
	c.must(slices.Contains(st.versions(cl.Tier), cl.KubernetesVersion), "k8s_version", "k8s_version is not valid")
	checkTags(c, cl.Tags)
}

func (st *state) checkPools(c *requestChecker, cl *cluster, specs []poolSpec) {
	for n, spec := range specs {
		var own requestChecker
		spec.check(&own, cl, st)
		spec.checkNew(&own, cl, st.cfg)
		for _, err := range own.errs {
			c.add(fmt.Sprintf("node_pools[%d].%s", n, err.Field), "%s", err.Reason)
		}
	}
}

// updateCluster answers PUT /lke/clusters/{cluster}.
func (st *state) updateCluster(cl *cluster, q *request) (any, error) {
	var spec clusterSpec
	if err := q.read(&spec); err != nil {
		return nil, err
	}
	var c requestChecker
	c.must(spec.Label == nil || clusterLabel.MatchString(*spec.Label), "label",
		"Length must be 3-32 characters: letters, digits and hyphens")
	c.must(spec.Version == nil || st.offers(cl, *spec.Version), "k8s_version", "k8s_version is not valid")
	c.must(spec.Version == nil || st.breaks("downgrade") || !catalog.NewerVersion(cl.KubernetesVersion, *spec.Version), "k8s_version",
		"k8s_version must not be older than the present one")
	checkTags(&c, ptr.Deref(spec.Tags, nil))
	if err := c.error(); err != nil {
		return nil, err
	}
	setIfGiven(&cl.Label, spec.Label)
	setIfGiven(&cl.KubernetesVersion, spec.Version)
	for _, p := range cl.pools {
		if spec.Version != nil && st.breaks("upgrade") && p.EnterpriseFields != nil {
			p.EnterpriseFields.KubernetesVersion = *spec.Version
		}
	}
	if spec.Tags != nil {
		cl.Tags = sortedTags(*spec.Tags)
	}
	if spec.ControlPlane != nil {
		cl.ControlPlane.HighAvailability = spec.ControlPlane.HighAvailability
	}
	cl.Updated = formatTime(q.now)
	return cl.view(), nil
}

// recycleCluster replaces the instances of all pools at once. The documentation says that LKE replaces them one by
// one, which was not observed.
func (st *state) recycleCluster(c *cluster, q *request) (any, error) {
	for _, p := range byID(c.pools) {
		if _, err := st.recyclePool(p, q); err != nil {
			return nil, err
		}
	}
	return struct{}{}, nil
}

// removeCluster answers DELETE /lke/clusters/{cluster}.
func (st *state) removeCluster(c *cluster, q *request) (any, error) {
	for _, p := range byID(c.pools) {
		st.deletePool(p, q.now)
	}
	delete(st.clusters, c.ID)
	return struct{}{}, nil
}

// listTierVersions answers GET /lke/tiers/{tier}/versions.
func (st *state) listTierVersions(q *request) (any, error) {
	tier := catalog.Tier(q.http.PathValue("tier"))
	if tier != catalog.Standard && tier != catalog.Enterprise {
		return nil, notFound()
	}
	return listPage(q, viewsOf(st.versions(tier), func(id string) linodego.LKETierVersion {
		return linodego.LKETierVersion{ID: id, Tier: linodego.LKEVersionTier(tier)}
	}))
}
