package lkesim

import "github.com/lkeplan/lkeplan/linode/catalog"

// versions are the Kubernetes versions on offer, newest first. Those of the standard tier and the older ones of
// Enterprise are in recorded answers; the newest of Enterprise is spelt after an example in the documentation.
func versions(tier catalog.Tier) []string {
	if tier == catalog.Enterprise {
		return []string{"v1.33.6+lke7", "v1.31.8+lke1", "v1.31.1+lke4"}
	}
	return []string{"1.35", "1.34", "1.33", "1.32", "1.31"}
}

func newestVersion(tier catalog.Tier) string { return versions(tier)[0] }
