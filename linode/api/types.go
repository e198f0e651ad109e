package api

import "github.com/linode/linodego"

// The objects of the API are linodego's. In a Pool, Linodes are the slots: places for a node, whose InstanceID is 0
// while there is no Linode. The name of a slot's node and Linode is lke<cluster>-<slot id>.
type (
	Cluster    = linodego.LKECluster
	Pool       = linodego.LKENodePool
	Slot       = linodego.LKENodePoolLinode
	Taint      = linodego.LKENodePoolTaint
	Labels     = linodego.LKENodePoolLabels
	Autoscaler = linodego.LKENodePoolAutoscaler
)

// PoolSpec describes a new pool. K8sVersion, FirewallID and UpdateStrategy
// are for Enterprise clusters and must be left out elsewhere.
type PoolSpec = linodego.LKENodePoolCreateOptions

// PoolChange has the fields of a pool that can be changed in place. A nil field is not changed; an empty list
// or map removes all entries.
type PoolChange = linodego.LKENodePoolUpdateOptions

// poolSpec and poolChange are sent in place of linodego's options. linodego (v1.69.1) leaves out the value of a
// taint if it is empty, and LKE requires it; it also sends the bounds of an autoscaler that is off, as zeros.
type poolSpec struct {
	PoolSpec
	Taints []taint `json:"taints"`
}

type poolChange struct {
	PoolChange
	Taints     *[]taint    `json:"taints,omitempty"`
	Autoscaler *autoscaler `json:"autoscaler,omitempty"`
}

type taint struct {
	Key    string                          `json:"key"`
	Value  string                          `json:"value"`
	Effect linodego.LKENodePoolTaintEffect `json:"effect"`
}

type autoscaler struct {
	Enabled bool `json:"enabled"`
	Min     int  `json:"min,omitempty"`
	Max     int  `json:"max,omitempty"`
}

func specToSend(s PoolSpec) poolSpec {
	return poolSpec{PoolSpec: s, Taints: taintsToSend(s.Taints)}
}

func changeToSend(c PoolChange) poolChange {
	out := poolChange{PoolChange: c}
	if c.Taints != nil {
		out.Taints = new(taintsToSend(*c.Taints))
	}
	if c.Autoscaler != nil {
		out.Autoscaler = new(autoscaler(*c.Autoscaler))
	}
	return out
}

func taintsToSend(taints []Taint) []taint {
	out := make([]taint, len(taints))
	for i, t := range taints {
		out[i] = taint(t)
	}
	return out
}
