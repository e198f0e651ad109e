package migrate

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/linode/api"
)

// TestAClusterIsChosen by its label or its ID; an ambiguous name is an error.
func TestAClusterIsChosen(t *testing.T) {
	clusters := []LKECluster{{Cluster: api.Cluster{ID: 5, Label: "prod"}}, {Cluster: api.Cluster{ID: 6, Label: "7"}},
		{Cluster: api.Cluster{ID: 7, Label: "dev"}}}
	tests := map[string]struct {
		of   []LKECluster
		name string
		id   int
		want string
	}{
		"by its label":              {clusters, "prod", 5, ""},
		"by its id":                 {clusters, "5", 5, ""},
		"the only one":              {clusters[:1], "", 5, ""},
		"one of several":            {clusters, "", 0, "there are several clusters: choose one with --cluster: prod, 7, dev"},
		"none of them":              {clusters, "x", 0, `there is no LKE cluster "x"; the LKE clusters are: prod, 7, dev`},
		"no cluster":                {nil, "", 0, "there is no LKE cluster"},
		"a label and an id":         {clusters, "7", 0, `"7" is the label or the ID of several clusters: 6 (7), 7 (dev); use`},
		"no cluster with that name": {nil, "x", 0, "there is no LKE cluster"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := ChooseCluster(test.of, test.name)
			if c.ID != test.id || err == nil != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("cluster %d, %v; want %d, %q", c.ID, err, test.id, test.want)
			}
		})
	}
}
