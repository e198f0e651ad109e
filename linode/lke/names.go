package lke

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// NodeName is the name of the node, and of the Linode, in a slot. It was
// recorded on nodes of real LKE clusters.
func NodeName(cluster int, slot string) string { return fmt.Sprintf("lke%d-%s", cluster, slot) }

// nodesOf are Nodes with the slots that they are named after.
func nodesOf(registered map[int]nodeclaim.Node) map[int]capacity.Node {
	nodes := make(map[int]capacity.Node, len(registered))
	for instance, n := range registered {
		_, slot, _ := strings.Cut(n.Name, "-")
		nodes[instance] = capacity.Node{
			Name: n.Name, NodePool: n.NodePool, Slot: slot, Ready: n.Ready, Leaving: n.Leaving, Condemned: n.MayBeDeleted,
			Kept: n.Kept,
		}
	}
	return nodes
}

// SlotOf is the inverse of NodeName. It returns false for a name that no slot
// of the cluster can have.
func SlotOf(cluster int, node string) (pool int, slot string, ok bool) {
	slot, ok = strings.CutPrefix(node, fmt.Sprintf("lke%d-", cluster))
	if !ok {
		return 0, "", false
	}
	digits, _, found := strings.Cut(slot, "-")
	pool, err := strconv.Atoi(digits)
	return pool, slot, found && err == nil
}

// IsNode reports whether a Node of that name can be one of the cluster.
func IsNode(cluster int, node string) bool {
	_, _, ok := SlotOf(cluster, node)
	return ok
}
