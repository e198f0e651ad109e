package instance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/schemas"
)

// Identity distinguishes the Linodes of one cluster from all others.
type Identity struct {
	Name string // of the cluster, the beginning of its Linodes' labels and of its Nodes' names
	uid  string // of its namespace kube-system, which no other cluster has
}

// IdentityOf reads which cluster this is. The error says what is wrong with the name, or that
// the cluster is LKE's.
func IdentityOf(ctx context.Context, from client.Reader, name string) (Identity, error) {
	if wrong := schemas.WrongInstanceName(name); wrong != "" {
		return Identity{}, fmt.Errorf("%q is not a valid cluster name in instance mode: %s; correct CLUSTER_NAME", name,
			wrong)
	}
	var system corev1.Namespace
	if err := from.Get(ctx, client.ObjectKey{Name: "kube-system"}, &system); err != nil {
		return Identity{}, fmt.Errorf("read the namespace kube-system, whose UID identifies the cluster's Linodes: %w", err)
	}
	return Identity{Name: name, uid: string(system.UID)}, refuseLKE(ctx, from)
}

// nodeOfLKE is the name of a Node of LKE.
var nodeOfLKE = regexp.MustCompile(`^lke\d+-`)

// refuseLKE refuses a cluster of LKE: its nodes carry WireGuard keys for the way to the
// control plane (lke.linode.com/wgpub), which a separate Linode does not have.
func refuseLKE(ctx context.Context, from client.Reader) error {
	var nodes corev1.NodeList
	if err := from.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list the Nodes: %w", err)
	}
	for _, node := range nodes.Items {
		_, labelled := node.Labels["lke.linode.com/pool-id"]
		if labelled && nodeOfLKE.MatchString(node.Name) { // any kubelet can set one of the two for its own Node
			return fmt.Errorf("this is an LKE cluster, as its Node %s shows: LKE gives its nodes keys for the control plane "+
				"that separate Linodes do not get, so instance mode cannot work; use --mode lke", node.Name)
		}
	}
	return nil
}

// The beginnings of tags that are ours.
const (
	tagOfCluster = "lkeplan-id="      // and a digest that no other cluster has
	tagOfName    = "lkeplan-cluster=" // and the name, for people
)

// Tag is the tag that all Linodes of the cluster have, and no other.
func (id Identity) Tag() string {
	sum := sha256.Sum256([]byte(id.uid))
	return tagOfCluster + hex.EncodeToString(sum[:8])
}

// NameTag is the tag by which people find them.
func (id Identity) NameTag() string { return tagOfName + id.Name }

// Node is the label of the machine of a claim, and the name of its Node.
func (id Identity) Node(uid string) string { return decide.Label(id.Name, uid) }

// IsNode reports whether a Node of that name can be of one of the cluster's Linodes.
func (id Identity) IsNode(name string) bool { return decide.Ours(id.Name, name) }

// Others counts the Linodes of the account that belong to another cluster with this name: an earlier one, or
// one by mistake. They are not changed.
func (id Identity) Others(ctx context.Context, linodeAPI API) (int, error) {
	all, err := linodeAPI.Instances(ctx, id.NameTag())
	others := 0
	for _, i := range all {
		if !api.Tagged(i, id.Tag()) {
			others++
		}
	}
	return others, err
}
