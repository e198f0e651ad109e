package lkeapi

import (
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Cluster is an LKE cluster, as far as a provider of capacity needs it (API:
// GET /lke/clusters/{id}).
type Cluster struct {
	ID      int          `json:"id"`
	Label   string       `json:"label"`
	Region  string       `json:"region"`
	Tier    catalog.Tier `json:"tier"`
	Version string       `json:"k8s_version"`
	Status  string       `json:"status"`
}

// Pool is a node pool of a cluster (API: GET /lke/clusters/{id}/pools).
type Pool struct {
	ID             int               `json:"id"`
	Type           string            `json:"type"`
	Count          int               `json:"count"`
	Slots          []Slot            `json:"nodes"`
	Tags           []string          `json:"tags"`
	Labels         map[string]string `json:"labels"`
	Taints         []Taint           `json:"taints"`
	DiskEncryption string            `json:"disk_encryption"`
	FirewallID     *int              `json:"firewall_id"`
	Version        *string           `json:"k8s_version"`
	Autoscaler     Autoscaler        `json:"autoscaler"`
}

// Autoscaler is LKE's own autoscaler of a pool.
type Autoscaler struct {
	Enabled bool `json:"enabled"`
}

// Slot is a place for a node in a pool. The name of its node and of its Linode
// is lke<cluster>-<slot id>.
type Slot struct {
	ID         string `json:"id"`
	InstanceID int    `json:"instance_id"` // 0: the API says null, no Linode yet
	Status     string `json:"status"`      // ready or not_ready
}

// Taint is a taint of a pool. LKE requires all three fields; an empty value is
// sent as "".
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// PoolSpec is what a pool is made from. Version, FirewallID and UpdateStrategy
// are for Enterprise clusters and must be left out elsewhere.
type PoolSpec struct {
	Type           string            `json:"type"`
	Count          int               `json:"count"`
	Tags           []string          `json:"tags,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Taints         []Taint           `json:"taints,omitempty"`
	DiskEncryption string            `json:"disk_encryption,omitempty"`
	FirewallID     *int              `json:"firewall_id,omitempty"`
	Version        string            `json:"k8s_version,omitempty"`
	UpdateStrategy string            `json:"update_strategy,omitempty"`
}

// PoolChange is what of a pool can be changed in place. A nil field is left as
// it is; an empty list or map takes everything away.
type PoolChange struct {
	Tags       []string          `json:"tags,omitzero"`
	Labels     map[string]string `json:"labels,omitzero"`
	Taints     []Taint           `json:"taints,omitzero"`
	Autoscaler *Autoscaler       `json:"autoscaler,omitempty"`
}
