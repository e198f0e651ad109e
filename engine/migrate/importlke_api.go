package migrate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/linode/api"
)

// FromLKE is a cluster as the Linode API describes it.
func FromLKE(c api.Cluster, pools []api.Pool) LKECluster {
	out := LKECluster{Cluster: c}
	for _, p := range pools {
		out.Pools = append(out.Pools, LKEPool{Pool: p})
	}
	return out
}

// ChooseCluster finds the cluster of a label or an id, or the only one there is.
func ChooseCluster(clusters []LKECluster, name string) (LKECluster, error) {
	var labels, known []string
	var meant []LKECluster
	for _, c := range clusters {
		if name == "" || c.Label == name || strconv.Itoa(c.ID) == name {
			meant = append(meant, c)
			known = append(known, fmt.Sprintf("%d (%s)", c.ID, c.Label))
		}
		labels = append(labels, c.Label)
	}
	switch {
	case len(meant) == 1:
		return meant[0], nil
	case len(meant) > 1 && name != "":
		return LKECluster{}, fmt.Errorf("%q is the label or the id of several clusters: %s; say the one of the two that only "+
			"one has", name, strings.Join(known, ", "))
	case len(clusters) == 0:
		return LKECluster{}, errors.New("there is no LKE cluster")
	case name == "":
		return LKECluster{}, fmt.Errorf("there are several clusters: say which by --cluster: %s",
			strings.Join(labels, ", "))
	}
	return LKECluster{}, fmt.Errorf("there is no cluster %q; there are %s", name, strings.Join(labels, ", "))
}
