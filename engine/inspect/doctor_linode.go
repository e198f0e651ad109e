package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/linode/api"
)

// newToken is what to do about a token that does not work.
const newToken = "create one in Cloud Manager (My Profile, API Tokens: Kubernetes, Read/Write)"

// linode checks the token of this program, and what it can read.
func (p Installation) linode(ctx context.Context) []Finding {
	const of = "Linode API"
	if p.Linode == nil {
		return []Finding{{LevelWarn, of, "no token to check",
			"set LINODE_TOKEN to the one that the controller has; doctor only reads with it"}}
	}
	s := p.settings(ctx)
	if s.instances {
		found, err := p.Joining.Linodes(ctx, s.Settings)
		if err != nil {
			return []Finding{{LevelFail, of, err.Error(), adviseUnanswered(err, p.Joining.NewToken)}}
		}
		return slices.Concat([]Finding{p.scope(api.ScopeInstances, p.Joining.NewToken)}, p.optional(true), found)
	}
	name, id := s.cluster(p)
	clusters, err := p.Linode.Clusters(ctx)
	if err != nil {
		return []Finding{{LevelFail, of, err.Error(), adviseUnanswered(err, newToken)}}
	}
	about := append([]Finding{p.scope(api.ScopePools, newToken)}, p.optional(false)...)
	if name == "" && id == 0 {
		return append(about, Finding{LevelWarn, of, "the name of the LKE cluster is missing",
			"set --cluster, CLUSTER_NAME or LKE_CLUSTER_ID"})
	}
	return append(about, findCluster(clusters, name, id))
}

// scope returns the finding about a scope that the token must have.
func (p Installation) scope(scope, otherwise string) Finding {
	const of = "Linode API"
	switch scopes := p.Linode.Scopes(); {
	case scopes == nil:
		return Finding{LevelWarn, of, "the API does not report which scopes the token has", ""}
	case !p.Linode.MayUse(scope):
		return Finding{LevelFail, of, fmt.Sprintf("the token lacks the scope %s: it has %s", scope, strings.Join(scopes, " ")), otherwise}
	}
	return Finding{LevelOK, of, "the token has the scope " + scope, ""}
}

// optional returns the findings about scopes that a token does not need.
func (p Installation) optional(instances bool) (found []Finding) {
	for _, o := range []struct {
		scope, without, has string
		lke                 bool // it is not used in instance mode
	}{
		{api.ScopeEvents, "a node that LKE cannot create is replaced after minutes, not seconds", "Events", true},
		{api.ScopeReadInstances, "a Linode that never boots is replaced after 15 minutes, not six", "Linodes", true},
		{api.ScopeMaintenance, "nodes are not replaced before maintenance of their hosts", "Account", false},
	} {
		if !p.Linode.MayUse(o.scope) && !(o.lke && instances) {
			found = append(found, Finding{LevelOK, "Linode API", "the token lacks the optional scope " + o.scope + ": " + o.without,
				"for that, create a token that also has " + o.has + ", Read Only"})
		}
	}
	return found
}

// adviseUnanswered returns what to do if the Linode API does not answer a request.
func adviseUnanswered(err error, token string) string {
	switch api.ClassOf(err) {
	case api.ClassAuth:
		if refused, ok := errors.AsType[*api.Error](err); ok && refused.Status == http.StatusForbidden {
			return token + ", as a user whose role allows it (Identity & Access)"
		}
		return token
	case api.ClassBusy:
		return "run doctor again in a few minutes: the Linode API has too many requests"
	case api.ClassUnknown:
		return "check LINODE_URL and the network, and run doctor again: the token was not checked"
	}
	return "check LINODE_URL: the answer does not have the form of an answer of the Linode API"
}

// findCluster returns the finding about the cluster with an ID, or with a name alone.
func findCluster(clusters []api.Cluster, name string, id int) Finding {
	const of = "LKE cluster"
	these := slices.DeleteFunc(slices.Clone(clusters), func(c api.Cluster) bool {
		return id != 0 && c.ID != id || id == 0 && c.Label != name
	})
	switch {
	case len(these) == 0 && id != 0:
		return Finding{LevelFail, of, fmt.Sprintf("the account has no LKE cluster %d; it has: %s", id, clusterNames(clusters)),
			"correct LKE_CLUSTER_ID (settings.clusterID), or use a token of the account that has it"}
	case len(these) == 0:
		return Finding{LevelFail, of, fmt.Sprintf("the account has no LKE cluster %q; it has: %s", name, clusterNames(clusters)),
			"correct the name, or use a token of the account that has it"}
	case len(these) > 1:
		return Finding{LevelWarn, of, fmt.Sprintf("the account has %d LKE clusters called %q", len(these), name),
			"set LKE_CLUSTER_ID of the controller (settings.clusterID) to the number of the right one"}
	case name != "" && these[0].Label != name:
		return Finding{LevelFail, of, fmt.Sprintf("%d is called %q, not %q", id, these[0].Label, name),
			"correct LKE_CLUSTER_ID or CLUSTER_NAME (settings.clusterID, settings.clusterName)"}
	}
	c := these[0]
	return Finding{LevelOK, of, fmt.Sprintf("%s is %d in %s; Linode shows Kubernetes %s", c.Label, c.ID, c.Region, c.K8sVersion), ""}
}

func clusterNames(clusters []api.Cluster) string {
	var texts []string
	for _, c := range clusters {
		texts = append(texts, fmt.Sprintf("%s (%d)", c.Label, c.ID))
	}
	return cmp.Or(strings.Join(texts, ", "), "none")
}
