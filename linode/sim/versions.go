package sim

import (
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

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

// version is the one that a machine is made of, and keeps until it is recycled: its pool's on Enterprise, else the
// control plane's, which somebody may have upgraded since the pool's other machines were made.
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
