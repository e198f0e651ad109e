package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/schemas"
)

// settings are the controller's settings.
type settings struct {
	instances                  bool // it is not LKE's: machines join automatically
	name, id, region, endpoint string
}

// cluster is the LKE cluster to check: the one of the flags, else the one that the controller is installed with.
func (s settings) cluster(p Installation) (name string, id int) {
	if p.Name != "" || p.ID != 0 {
		return p.Name, p.ID
	}
	id, _ = strconv.Atoi(s.id)
	return s.name, id
}

// settings are those of flags, and else those of the Deployment that creates nodes.
func (p Installation) settings(ctx context.Context) settings {
	env := map[string]string{}
	parts, _ := p.parts(ctx) // installed reports the problem
	for _, d := range parts {
		if d.name == "lkeplan-controller" {
			env = d.env
		}
	}
	return settings{
		instances: p.Instances || env["KARPENTER_MODE"] == schemas.ModeInstance,
		name:      cmp.Or(p.Name, env["CLUSTER_NAME"]),
		id:        env["LKE_CLUSTER_ID"],
		region:    cmp.Or(p.Region, env["LINODE_REGION"], env["CLUSTER_REGION"]),
		endpoint:  cmp.Or(p.Endpoint, env["CLUSTER_ENDPOINT"]),
	}
}

// joins checks what machines need to join.
func (p Installation) joins(ctx context.Context) []Finding {
	s := p.settings(ctx)
	if !s.instances {
		return nil
	}
	return slices.Concat(s.findings(), p.way(ctx, s), p.tokens(ctx), p.unjoined(ctx))
}

// unjoined finds the last event, within the last hour, about a machine that has not joined. Events of NodeClaims are in
// default, where tenants cannot write.
func (p Installation) unjoined(ctx context.Context) []Finding {
	const of = "machines that join"
	at, err := p.events(ctx)
	if err != nil {
		return notKnown(of, err)
	}
	claims, err := cluster.List[karpv1.NodeClaim](ctx, p.Cluster, "karpenter.sh/v1", "NodeClaim")
	if err != nil {
		return notKnown(of, err)
	}
	joined := map[types.UID]bool{}
	for _, nc := range claims {
		joined[nc.UID] = nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeRegistered).IsTrue()
	}
	for _, e := range at.OfKind("NodeClaim") {
		if saysWhyUnjoined(e) && !joined[e.InvolvedObject.UID] && p.Now().Sub(at.LastSeen(e)) < time.Hour {
			return []Finding{{LevelWarn, of, saidOf(at, e), "fix what it reports; see lkeplan why claim " + e.InvolvedObject.Name}}
		}
	}
	return nil
}

func (p Installation) events(ctx context.Context) (cluster.Events, error) {
	events, err := cluster.List[corev1.Event](ctx, p.Cluster, "v1", "Event")
	return cluster.Snapshot{Events: events}.EventsAt(p.Now()), err
}

// saidOf is what an event of a NodeClaim reports.
func saidOf(events cluster.Events, e *corev1.Event) string {
	return fmt.Sprintf("NodeClaim %s, at %s: %s", e.InvolvedObject.Name, events.LastSeen(e).UTC().Format("15:04 UTC"), e.Message)
}

// findings are about the settings themselves, as the controller reads them.
func (s settings) findings() []Finding {
	const of = "instance mode"
	found := []Finding{{LevelOK, of, fmt.Sprintf("Linodes join the cluster %s, in %s", s.name, s.region), ""}}
	if wrong := schemas.WrongInstanceName(s.name); wrong != "" {
		found = append(found, Finding{LevelFail, of, fmt.Sprintf("the cluster cannot be called %q: %s", s.name, wrong),
			"correct CLUSTER_NAME (settings.clusterName)"})
	}
	if s.region == "" {
		found = append(found, Finding{LevelFail, of, "the region is missing",
			"set LINODE_REGION (region) to the one that the cluster is in, such as us-ord"})
	}
	if s.id != "" {
		found = append(found, Finding{LevelFail, of,
			"the controller does not start with LKE_CLUSTER_ID, which is for clusters of LKE",
			"unset LKE_CLUSTER_ID (settings.clusterID) or KARPENTER_MODE (settings.mode)"})
	}
	if len(found) > 1 {
		return found[1:]
	}
	return found
}

// way checks how machines find the API server.
func (p Installation) way(ctx context.Context, s settings) []Finding {
	const of = "way to the API server"
	info, err := p.Cluster.Get(ctx, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "kube-public", "name": "cluster-info"},
	})
	switch {
	case err != nil:
		return notKnown(of, err)
	case s.endpoint != "" && info == nil && !p.isK3s(ctx):
		return []Finding{{LevelWarn, of, "machines connect to " + s.endpoint + ", and there is no ConfigMap kube-public/cluster-info: " +
			"node classes that join with kubeadm get no nodes", "if there are such classes: kubeadm init phase bootstrap-token"}}
	case s.endpoint != "":
		return []Finding{{LevelOK, of, "machines connect to " + s.endpoint, ""}}
	case info == nil:
		return []Finding{{LevelFail, of, "there is no ConfigMap kube-public/cluster-info, which kubeadm creates",
			"set CLUSTER_ENDPOINT (settings.clusterEndpoint) to the API server's address, such as https://10.0.0.2:6443"}}
	}
	return []Finding{{LevelOK, of, "machines read the address from the ConfigMap kube-public/cluster-info", ""}}
}

// tokens checks whether machines can join with bootstrap tokens, and what else these allow.
// Whether the API server accepts any cannot be checked.
func (p Installation) tokens(ctx context.Context) []Finding {
	const of = "bootstrap tokens"
	if p.isK3s(ctx) {
		return []Finding{{LevelOK, of, "k3s accepts them without further rights", ""}}
	}
	bindings, err := cluster.List[rbacv1.ClusterRoleBinding](ctx, p.Cluster, "rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
	if err != nil {
		return notKnown(of, err)
	}
	groupsOfAToken := []string{token.Group, "system:bootstrappers", "system:authenticated"}
	for _, b := range bindings {
		if b.RoleRef.Name == approvesAny && binds(b, groupsOfAToken...) {
			return []Finding{{LevelWarn, of, fmt.Sprintf("the ClusterRoleBinding %s lets anyone with the token of a machine get "+
				"the certificate of any Node", b.Name), "bind " + approvesAny + " to the group of your " +
				"tokens, such as kubeadm's system:bootstrappers:kubeadm:default-node-token"}}
		}
	}
	if !slices.ContainsFunc(bindings, func(b *rbacv1.ClusterRoleBinding) bool {
		return b.RoleRef.Name == asking && binds(b, token.Group)
	}) {
		return []Finding{{LevelFail, of, "no ClusterRoleBinding lets the group " + token.Group + " request certificates: " +
			"no machine can join", "helm upgrade, or kubectl apply -f kube/deploy/instance.yaml of that release"}}
	}
	return []Finding{{LevelOK, of, "machines can request certificates", ""}}
}

// asking is the ClusterRole of machines that have no certificate yet.
const asking = "lkeplan-machines"

// approvesAny is the ClusterRole with which each certificate request of a
// kubelet approved by kube-controller-manager.
const approvesAny = "system:certificates.k8s.io:certificatesigningrequests:nodeclient"

// isK3s reports whether the version of the API server is one of k3s.
func (p Installation) isK3s(ctx context.Context) bool {
	info, _, err := p.Cluster.Server(ctx)
	return err == nil && strings.Contains(info.GitVersion, "+k3s")
}

// binds reports whether a binding is for one of those groups.
func binds(binding *rbacv1.ClusterRoleBinding, groups ...string) bool {
	return slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.GroupKind && slices.Contains(groups, s.Name)
	})
}
