package nodeclaim

import (
	"github.com/awslabs/operatorpkg/status"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// Reasons to replace a node, in addition to those of Karpenter.
const (
	// NodeClassDrifted: the LinodeNodeClass has changed in a way that needs new nodes.
	NodeClassDrifted cloudprovider.DriftReason = "NodeClassDrift"
	// VersionDrifted: the LinodeNodeClass names another Kubernetes version than the
	// node has, the control plane has that version, and it is the NodePool's turn.
	VersionDrifted cloudprovider.DriftReason = "KubernetesVersionDrift"
	// PoolDrifted: the LKE node pool has changed, so that its nodes are not what was requested, and LKE cannot
	// change it back in place.
	PoolDrifted cloudprovider.DriftReason = "LKEPoolDrift"
	// Resized: the Linode has another plan type than the one that it was ordered with.
	Resized cloudprovider.DriftReason = "InstanceResized"
	// MaintenanceDrifted: Linode maintains the host soon, and the class asks to replace
	// the node before that.
	MaintenanceDrifted cloudprovider.DriftReason = "HostMaintenance"
	// AgeDrifted: the node has reached the age at which its NodePool replaces nodes.
	AgeDrifted cloudprovider.DriftReason = "RefreshAfter"
)

// DriftedByAge reports whether a NodeClaim is to be replaced because of its age alone.
func DriftedByAge(nc *karpv1.NodeClaim) bool {
	c := nc.StatusConditions(status.WithObservedOnly()).Get(karpv1.ConditionTypeDrifted)
	return c.IsTrue() && c.Reason == string(AgeDrifted)
}

// DoneOutside reports whether a reason is a change at Linode, or the age of the node, and not a commit.
func DoneOutside(reason string) bool {
	switch cloudprovider.DriftReason(reason) {
	case PoolDrifted, Resized, MaintenanceDrifted, AgeDrifted:
		return true
	}
	return false
}
