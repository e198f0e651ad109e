package lkesim

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func (st *state) listClusters(q *request) (any, error) {
	var rows []Cluster
	for _, c := range st.clustersByID() {
		rows = append(rows, c.view())
	}
	return list(q, rows)
}

func (st *state) getCluster(q *request) (any, error) {
	c, err := st.cluster(q)
	if err != nil {
		return nil, err
	}
	return c.view(), nil
}

// createCluster is not what a capacity provider does; it is here because each recording begins with it.
func (st *state) createCluster(q *request) (any, error) {
	var c checker
	label := take[string](&c, q.fields, "label")
	region := take[string](&c, q.fields, "region")
	version := take[string](&c, q.fields, "k8s_version")
	tier := take[string](&c, q.fields, "tier")
	tags := take[[]string](&c, q.fields, "tags")
	pools := take[[]bodyFields](&c, q.fields, "node_pools")
	draft := &cluster{
		label: value(label), region: value(region), version: value(version),
		tier: catalog.Tier(or(value(tier), string(catalog.Standard))), tags: sorted(value(tags)), pools: map[int]*pool{},
	}
	st.checkCluster(&c, draft)
	specs := st.checkPools(&c, draft, value(pools))
	if err := c.err(); err != nil {
		return nil, err
	}
	made := st.addCluster(0, draft.label, draft.region, draft.version, draft.tier, q.now)
	made.tags = draft.tags
	for _, spec := range specs {
		st.grow(st.addPool(made, spec), *spec.count, q.now)
	}
	return made.view(), nil
}

var clusterLabel = regexp.MustCompile(`^[a-zA-Z0-9-]{3,32}$`)

func (st *state) checkCluster(c *checker, cl *cluster) {
	c.must(clusterLabel.MatchString(cl.label), "label", "Length must be 3-32 characters: letters, digits and hyphens")
	c.must(cl.tier == catalog.Standard || cl.tier == catalog.Enterprise, "tier", "Must be standard or enterprise")
	r, ok := st.cfg.Catalog.Region(cl.region)
	c.must(ok && r.Has(cl.tier.Capability()), "region", "region is not valid")
	c.must(slices.Contains(versions(cl.tier), cl.version), "k8s_version", "k8s_version is not valid")
	checkTags(c, cl.tags)
}

func (st *state) checkPools(c *checker, cl *cluster, pools []bodyFields) []poolSpec {
	var specs []poolSpec
	for n, fields := range pools {
		var own checker
		spec := readPoolSpec(&own, fields)
		spec.check(&own, cl)
		spec.checkNew(&own, cl, st.cfg.Catalog)
		for _, err := range own.errs {
			c.add(fmt.Sprintf("node_pools[%d].%s", n, err.Field), "%s", err.Reason)
		}
		specs = append(specs, spec)
	}
	return specs
}

func (st *state) updateCluster(q *request) (any, error) {
	cl, err := st.cluster(q)
	if err != nil {
		return nil, err
	}
	var c checker
	label := take[string](&c, q.fields, "label")
	tags := take[[]string](&c, q.fields, "tags")
	version := take[string](&c, q.fields, "k8s_version")
	plane := take[ControlPlane](&c, q.fields, "control_plane")
	c.must(label == nil || clusterLabel.MatchString(*label), "label",
		"Length must be 3-32 characters: letters, digits and hyphens")
	c.must(version == nil || offers(cl, *version), "k8s_version", "k8s_version is not valid")
	checkTags(&c, value(tags))
	if err := c.err(); err != nil {
		return nil, err
	}
	set(&cl.label, label)
	set(&cl.version, version)
	if tags != nil {
		cl.tags = sorted(*tags)
	}
	if plane != nil {
		cl.ha = plane.HighAvailability
	}
	cl.updated = q.now
	return cl.view(), nil
}

func (st *state) removeCluster(q *request) (any, error) {
	c, err := st.cluster(q)
	if err != nil {
		return nil, err
	}
	st.deleteCluster(c, q.now)
	return struct{}{}, nil
}

func (st *state) cluster(q *request) (*cluster, error) {
	if c := st.clusters[q.id("cluster")]; c != nil {
		return c, nil
	}
	return nil, notFound()
}

type versionView struct {
	ID   string `json:"id"`
	Tier string `json:"tier"`
}

func (st *state) listTierVersions(q *request) (any, error) {
	rows, err := st.tierVersions(q)
	if err != nil {
		return nil, err
	}
	return list(q, rows)
}

func (st *state) tierVersions(q *request) ([]versionView, error) {
	tier := catalog.Tier(q.http.PathValue("tier"))
	if tier != catalog.Standard && tier != catalog.Enterprise {
		return nil, notFound()
	}
	ids := versions(tier)
	if own := st.cfg.KubernetesVersion; tier == catalog.Tier(st.cfg.Tier) && !slices.Contains(ids, own) {
		ids = append([]string{own}, ids...)
	}
	var rows []versionView
	for _, id := range ids {
		rows = append(rows, versionView{ID: id, Tier: string(tier)})
	}
	return rows, nil
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
