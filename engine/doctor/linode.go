package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/linode/lkeapi"
)

// newToken is what to do about a token that is not good.
const newToken = "make one in Cloud Manager (My Profile, API Tokens: Kubernetes, Read/Write)"

// linode looks at the token that this program was given, and at what it can see.
func (p Patient) linode(ctx context.Context) []Finding {
	const of = "Linode API"
	if p.Linode == nil {
		return []Finding{{Warn, of, "no token was given to try",
			"set LINODE_TOKEN to the one that the controller has; it is only read with"}}
	}
	clusters, err := p.Linode.Clusters(ctx)
	if err != nil {
		return []Finding{{Fail, of, err.Error(), newToken}}
	}
	var found []Finding
	switch scopes := p.Linode.Scopes(); {
	case scopes == nil:
		found = append(found, Finding{Warn, of, "it does not say which scopes the token has", ""})
	case !p.Linode.MayUse(lkeapi.ScopePools):
		found = append(found, Finding{Fail, of, fmt.Sprintf("the token lacks the scope %s: it has %s", lkeapi.ScopePools,
			strings.Join(scopes, " ")), newToken})
	default:
		found = append(found, Finding{OK, of, "the token has the scope " + lkeapi.ScopePools, ""})
	}
	if p.Name == "" {
		return append(found, Finding{Warn, of, "no name of an LKE cluster was given to look for",
			"--cluster-name, or CLUSTER_NAME"})
	}
	return append(found, named(clusters, p.Name))
}

// named is the finding about the clusters of one name.
func named(clusters []lkeapi.Cluster, name string) Finding {
	const of = "LKE cluster"
	var labels []string
	var same []lkeapi.Cluster
	for _, c := range clusters {
		labels = append(labels, c.Label)
		if c.Label == name {
			same = append(same, c)
		}
	}
	switch len(same) {
	case 0:
		return Finding{Fail, of, fmt.Sprintf("the account has none called %q; it has: %s", name, strings.Join(labels, ", ")),
			"correct the name, or use a token of the account that has it"}
	case 1:
		c := same[0]
		return Finding{OK, of, fmt.Sprintf("%s is %d in %s, Kubernetes %s", name, c.ID, c.Region, c.K8sVersion), ""}
	}
	return Finding{Warn, of, fmt.Sprintf("the account has %d called %q", len(same), name),
		"set LKE_CLUSTER_ID of the controller (settings.clusterID) to the number of the one that is meant"}
}
