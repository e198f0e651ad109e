// Package checks finds what a cluster and an account lack before separate Linodes can join the cluster. The command
// lkeplan doctor runs it in instance mode.
package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Finding is the result of one check. Level is ok, warn or fail.
type Finding struct{ Level, Of, Text, Do string }

const (
	ok   = "ok"
	warn = "warn"
	fail = "fail"
)

// Cluster is the cluster to check; kube.Cluster implements it.
type Cluster interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
	Server(ctx context.Context) (version.Info, error)
}

// Account reads the Linode account; api.Client implements it.
type Account interface {
	Instances(ctx context.Context, tag string) ([]api.Instance, error)
	InstancesNamed(ctx context.Context, part string) ([]api.Instance, error)
	MayUse(scope string) bool
}

// Settings are the settings of the controller. ID is the id of an LKE cluster, which must not be set in instance
// mode.
type Settings struct{ Name, ID, Region, Endpoint string }

// Joins checks the prerequisites for machines to join.
func Joins(ctx context.Context, c Cluster, s Settings) []Finding {
	return slices.Concat(s.findings(), checkEndpoint(ctx, c, s), checkTokens(ctx, c))
}

// findings checks the settings themselves, as the controller reads them.
func (s Settings) findings() (found []Finding) {
	const of = "instance mode"
	if wrong := schemas.WrongInstanceName(s.Name); wrong != "" {
		found = append(found, Finding{fail, of, fmt.Sprintf("the cluster cannot be called %q: %s", s.Name, wrong),
			"correct CLUSTER_NAME (settings.clusterName)"})
	}
	if s.Region == "" {
		found = append(found, Finding{fail, of, "the region is missing",
			"set LINODE_REGION (region) to the one that the cluster is in, such as us-ord"})
	}
	if s.ID != "" {
		found = append(found, Finding{fail, of,
			"the controller does not start with LKE_CLUSTER_ID, which is for clusters of LKE",
			"unset LKE_CLUSTER_ID (settings.clusterID) or KARPENTER_MODE (settings.mode)"})
	}
	if len(found) == 0 {
		found = []Finding{{ok, of, fmt.Sprintf("Linodes join the cluster %s, in %s", s.Name, s.Region), ""}}
	}
	return found
}

// checkEndpoint checks how machines find the API server.
func checkEndpoint(ctx context.Context, c Cluster, s Settings) []Finding {
	const of = "way to the API server"
	info, err := c.Get(ctx, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "kube-public", "name": "cluster-info"},
	})
	switch {
	case err != nil:
		return notKnown(of, err)
	case s.Endpoint != "" && info == nil && !isK3s(ctx, c):
		return []Finding{{warn, of, "machines connect to " + s.Endpoint + ", and there is no ConfigMap kube-public/cluster-info: " +
			"node classes that join with kubeadm get no nodes", "if there are such classes: kubeadm init phase bootstrap-token"}}
	case s.Endpoint != "":
		return []Finding{{ok, of, "machines connect to " + s.Endpoint, ""}}
	case info == nil:
		return []Finding{{fail, of, "there is no ConfigMap kube-public/cluster-info, which kubeadm creates",
			"set CLUSTER_ENDPOINT (settings.clusterEndpoint) to the API server's address, such as https://10.0.0.2:6443"}}
	}
	return []Finding{{ok, of, "machines read the address from the ConfigMap kube-public/cluster-info", ""}}
}

// checkTokens checks whether machines can join with bootstrap tokens, and what else these allow. It cannot check
// whether the API server accepts bootstrap tokens at all.
func checkTokens(ctx context.Context, c Cluster) []Finding {
	const of = "bootstrap tokens"
	if isK3s(ctx, c) {
		return []Finding{{ok, of, "k3s accepts them without further rights", ""}}
	}
	objects, err := c.List(ctx, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
	if err != nil {
		return notKnown(of, err)
	}
	requests := false
	groupsOfAToken := []string{token.Group, "system:bootstrappers", "system:authenticated"}
	for _, obj := range objects {
		b, err := manifest.As[rbacv1.ClusterRoleBinding](obj)
		if err != nil {
			return notKnown(of, err)
		}
		if b.RoleRef.Name == approvesAny && bindsGroup(b, groupsOfAToken...) {
			return []Finding{{warn, of, fmt.Sprintf("the ClusterRoleBinding %s lets anyone with the token of a machine get "+
				"the certificate of any Node", b.Name), "bind " + approvesAny + " to the group of your " +
				"tokens, such as kubeadm's system:bootstrappers:kubeadm:default-node-token"}}
		}
		requests = requests || b.RoleRef.Name == asking && bindsGroup(b, token.Group)
	}
	if !requests {
		return []Finding{{fail, of, "no ClusterRoleBinding lets the group " + token.Group + " request certificates: " +
			"no machine can join", "helm upgrade, or kubectl apply -f kube/deploy/instance.yaml of that release"}}
	}
	return []Finding{{ok, of, "machines can request certificates", ""}}
}

// asking is the ClusterRole of machines without a certificate.
const asking = "lkeplan-machines"

// approvesAny is the ClusterRole with which kube-controller-manager approves each certificate request of a kubelet.
const approvesAny = "system:certificates.k8s.io:certificatesigningrequests:nodeclient"

// isK3s reports whether the version of the API server is one of k3s.
func isK3s(ctx context.Context, c Cluster) bool {
	info, err := c.Server(ctx)
	return err == nil && strings.Contains(info.GitVersion, "+k3s")
}

// bindsGroup reports whether a binding is for one of the groups.
func bindsGroup(binding *rbacv1.ClusterRoleBinding, groups ...string) bool {
	return slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.GroupKind && slices.Contains(groups, s.Name)
	})
}

// NewToken is the instruction for a token that does not work.
const NewToken = "create one in Cloud Manager (My Profile, API Tokens: Linodes, Read/Write; Images, Firewalls and VPCs, Read)"

// Linodes checks which Linodes of the cluster a token can list. The error is that of the first call.
func Linodes(ctx context.Context, a Account, s Settings) ([]Finding, error) {
	if s.Name == "" {
		return []Finding{{warn, "Linodes", "the name of the cluster is missing", "set --cluster or CLUSTER_NAME"}}, nil
	}
	id := instance.Identity{Name: s.Name}
	all, err := a.Instances(ctx, id.NameTag())
	if err != nil {
		return nil, err
	}
	var found []Finding
	var lacks []string
	for _, scope := range []string{"images:read_only", "firewall:read_only", "vpc:read_only"} {
		if !a.MayUse(scope) {
			lacks = append(lacks, scope)
		}
	}
	if len(lacks) > 0 {
		found = append(found, Finding{warn, "Linode API",
			"the token lacks " + strings.Join(lacks, " and ") + ": node classes that use them are not ready", NewToken})
	}
	found = append(found, Finding{ok, "Linodes", fmt.Sprintf("the account has %d with the tag %s", len(all), id.NameTag()), ""})
	named, err := a.InstancesNamed(ctx, id.Name+"-")
	if err != nil {
		return append(found, notKnown("Linodes", err)...), nil
	}
	// Linodes of the cluster without its tag are not in its lists.
	lost := slices.DeleteFunc(named, func(i api.Instance) bool { return !id.Lost(i) })
	if len(lost) > 0 {
		found = append(found, Finding{warn, "Linodes", fmt.Sprintf("%s with a label of the cluster, such as %s, without the tag "+
			"lkeplan-id=...: lkeplan does not find them, and does not delete those without a NodeClaim",
			countLinodes(len(lost)), lost[0].Label),
			"add the tag that the other Linodes of the cluster have, or delete those without a NodeClaim"})
	}
	return found, nil
}

func countLinodes(n int) string {
	if n == 1 {
		return "1 Linode"
	}
	return fmt.Sprintf("%d Linodes", n)
}

// notKnown returns the finding for a check that could not be made.
func notKnown(of string, err error) []Finding {
	f := Finding{warn, of, "unknown: " + err.Error(), ""}
	if apierrors.IsForbidden(err) {
		f.Do = "run doctor as a user with this right"
	}
	return []Finding{f}
}
