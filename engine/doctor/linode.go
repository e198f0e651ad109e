package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
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
		return []Finding{{Fail, of, err.Error(), unanswered(err)}}
	}
	var about []Finding
	switch scopes := p.Linode.Scopes(); {
	case scopes == nil:
		about = append(about, Finding{Warn, of, "it does not say which scopes the token has", ""})
	case !p.Linode.MayUse(lkeapi.ScopePools):
		about = append(about, Finding{Fail, of, fmt.Sprintf("the token lacks the scope %s: it has %s", lkeapi.ScopePools,
			strings.Join(scopes, " ")), newToken})
	default:
		about = append(about, Finding{OK, of, "the token has the scope " + lkeapi.ScopePools, ""})
	}
	name, id := p.meant(ctx)
	if name == "" && id == 0 {
		return append(about, Finding{Warn, of, "no name of an LKE cluster was given to look for",
			"--cluster-name, CLUSTER_NAME or LKE_CLUSTER_ID"})
	}
	return append(about, chosen(clusters, name, id))
}

// unanswered is what to do where the Linode API does not give what it was asked for.
func unanswered(err error) string {
	switch lkeapi.ClassOf(err) {
	case lkeapi.ClassAuth:
		return newToken
	case lkeapi.ClassBusy:
		return "run it again in some minutes: the Linode API has too many requests"
	case lkeapi.ClassUnknown:
		return "check LINODE_URL and the network, and run it again: the token was not tried"
	}
	return "check LINODE_URL: this is no answer of the Linode API as it is known"
}

// meant is the LKE cluster to look for: the one that is given, else the one that the
// controller is installed with.
func (p Patient) meant(ctx context.Context) (name string, id int) {
	if p.Name != "" || p.ID != 0 {
		return p.Name, p.ID
	}
	parts, err := p.parts(ctx)
	at := slices.IndexFunc(parts, func(d part) bool { return d.name == "lkeplan-controller" })
	if err != nil || at < 0 {
		return "", 0 // installed says it
	}
	id, _ = strconv.Atoi(parts[at].env["LKE_CLUSTER_ID"])
	return parts[at].env["CLUSTER_NAME"], id
}

// chosen is the finding about the cluster of a number, or of a name alone.
func chosen(clusters []lkeapi.Cluster, name string, id int) Finding {
	const of = "LKE cluster"
	if id == 0 {
		return named(clusters, name)
	}
	at := slices.IndexFunc(clusters, func(c lkeapi.Cluster) bool { return c.ID == id })
	if at < 0 {
		return Finding{Fail, of, fmt.Sprintf("the account has none with the number %d; it has: %s", id, listed(clusters)),
			"correct LKE_CLUSTER_ID (settings.clusterID), or use a token of the account that has it"}
	}
	if c := clusters[at]; name != "" && c.Label != name {
		return Finding{Fail, of, fmt.Sprintf("%d is called %q, not %q", id, c.Label, name),
			"correct LKE_CLUSTER_ID or CLUSTER_NAME (settings.clusterID, settings.clusterName)"}
	}
	return there(clusters[at])
}

// there is the finding of the cluster that is meant.
func there(c lkeapi.Cluster) Finding {
	text := fmt.Sprintf("%s is %d in %s, Kubernetes %s", c.Label, c.ID, c.Region, c.K8sVersion)
	return Finding{OK, "LKE cluster", text, ""}
}

// listed names clusters for people.
func listed(clusters []lkeapi.Cluster) string {
	var texts []string
	for _, c := range clusters {
		texts = append(texts, fmt.Sprintf("%s (%d)", c.Label, c.ID))
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}

// named is the finding about the clusters of one name.
func named(clusters []lkeapi.Cluster, name string) Finding {
	const of = "LKE cluster"
	same := slices.DeleteFunc(slices.Clone(clusters), func(c lkeapi.Cluster) bool { return c.Label != name })
	switch len(same) {
	case 0:
		return Finding{Fail, of, fmt.Sprintf("the account has none called %q; it has: %s", name, listed(clusters)),
			"correct the name, or use a token of the account that has it"}
	case 1:
		return there(same[0])
	}
	return Finding{Warn, of, fmt.Sprintf("the account has %d called %q", len(same), name),
		"set LKE_CLUSTER_ID of the controller (settings.clusterID) to the number of the one that is meant"}
}
