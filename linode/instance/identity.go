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
	Name string // of the cluster: the prefix of its Linodes' labels and of its Nodes' names
	uid  string // of its namespace kube-system, which is unique
}

// IdentityOf reads the identity of a cluster. It returns an error if the name is invalid, or if it is an LKE
// cluster.
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

// nodeOfLKE matches the names of LKE's Nodes.
var nodeOfLKE = regexp.MustCompile(`^lke\d+-`)

// refuseLKE returns an error for an LKE cluster: its nodes have WireGuard keys for the network to the control plane
// (lke.linode.com/wgpub), which a separate Linode does not have.
func refuseLKE(ctx context.Context, from client.Reader) error {
	var nodes corev1.NodeList
	if err := from.List(ctx, &nodes); err != nil {
		return fmt.Errorf("list the Nodes: %w", err)
	}
	for _, node := range nodes.Items {
		_, labelled := node.Labels["lke.linode.com/pool-id"]
		if labelled && nodeOfLKE.MatchString(node.Name) { // a kubelet can set either of the two for its own Node, but not both
			return fmt.Errorf("this is an LKE cluster, as its Node %s shows: LKE gives its nodes keys for the control plane "+
				"that separate Linodes do not get, so instance mode cannot work; use --mode lke", node.Name)
		}
	}
	return nil
}

// The prefixes of our tags.
const (
	tagOfCluster = "lkeplan-id="      // with a digest that is unique to the cluster
	tagOfName    = "lkeplan-cluster=" // with the name, for users
)

// Tag returns the tag that all Linodes of the cluster have, and no other.
func (id Identity) Tag() string {
	sum := sha256.Sum256([]byte(id.uid))
	return tagOfCluster + hex.EncodeToString(sum[:8])
}

// NameTag returns the tag by which users find the Linodes.
func (id Identity) NameTag() string { return tagOfName + id.Name }

// Node returns the label of the machine of a claim, which is also the name of its Node.
func (id Identity) Node(uid string) string { return decide.Label(id.Name, uid) }

// IsNode reports whether a Node with that name can belong to one of the cluster's Linodes.
func (id Identity) IsNode(name string) bool { return decide.Ours(id.Name, name) }

// Others counts the Linodes of the account that belong to another cluster with the same name: an earlier one, or a
// second one by mistake. They are never changed.
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
