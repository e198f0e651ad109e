package sim

import (
	"github.com/linode/linodego"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Cluster is an LKE cluster as GET /lke/clusters/{id} answers it.
type Cluster struct {
	ID                int                             `json:"id"`
	Status            string                          `json:"status"`
	Created           string                          `json:"created"`
	Updated           string                          `json:"updated"`
	Label             string                          `json:"label"`
	Region            string                          `json:"region"`
	KubernetesVersion string                          `json:"k8s_version"`
	Tier              catalog.Tier                    `json:"tier"`
	ControlPlane      linodego.LKEClusterControlPlane `json:"control_plane"`
	APLEnabled        bool                            `json:"apl_enabled"`
	Tags              []string                        `json:"tags"`
	Locks             []string                        `json:"locks"`
}

// Pool is an LKE node pool as GET /lke/clusters/{id}/pools/{pool} answers it.
type Pool struct {
	ID             int                            `json:"id"`
	Type           string                         `json:"type"`
	Label          string                         `json:"label"`
	Count          int                            `json:"count"`
	Nodes          []Node                         `json:"nodes"`
	Disks          []linodego.LKENodePoolDisk     `json:"disks"`
	Autoscaler     linodego.LKENodePoolAutoscaler `json:"autoscaler"`
	Labels         map[string]string              `json:"labels"`
	Taints         []Taint                        `json:"taints"`
	Tags           []string                       `json:"tags"`
	DiskEncryption string                         `json:"disk_encryption"`
	Locks          []string                       `json:"locks"`
	// EnterpriseFields are present only on Enterprise; nil leaves out the keys.
	*EnterpriseFields
}

// EnterpriseFields are the additional fields of a pool of an Enterprise cluster.
type EnterpriseFields struct {
	KubernetesVersion string `json:"k8s_version"`
	UpdateStrategy    string `json:"update_strategy"`
	FirewallID        *int   `json:"firewall_id"`
}

// Node is one slot of a pool. InstanceID is nil until a Linode was created for it.
type Node struct {
	ID         string `json:"id"`
	InstanceID *int   `json:"instance_id"`
	Status     string `json:"status"` // ready, not_ready
}

// Taint is a taint that LKE keeps on each node of a pool.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// Instance is a Linode as GET /linode/instances/{id} answers it. Many values are constant here; the keys are those
// of the recorded answer.
type Instance struct {
	ID                  int                              `json:"id"`
	Label               string                           `json:"label"`
	Group               string                           `json:"group"`
	Status              string                           `json:"status"` // offline, booting, running, deleting
	Created             string                           `json:"created"`
	Updated             string                           `json:"updated"`
	Type                string                           `json:"type"`
	IPv4                []string                         `json:"ipv4"`
	IPv6                string                           `json:"ipv6"`
	Image               *string                          `json:"image"`
	Region              string                           `json:"region"`
	SiteType            string                           `json:"site_type"`
	Specs               linodego.InstanceSpec            `json:"specs"`
	Alerts              linodego.InstanceAlert           `json:"alerts"`
	Backups             map[string]any                   `json:"backups"`
	Hypervisor          string                           `json:"hypervisor"`
	WatchdogEnabled     bool                             `json:"watchdog_enabled"`
	Tags                []string                         `json:"tags"`
	HostUUID            string                           `json:"host_uuid"`
	HasUserData         bool                             `json:"has_user_data"`
	PlacementGroup      *linodego.InstancePlacementGroup `json:"placement_group"`
	DiskEncryption      string                           `json:"disk_encryption"`
	LKEClusterID        *int                             `json:"lke_cluster_id"`
	Capabilities        []string                         `json:"capabilities"`
	InterfaceGeneration string                           `json:"interface_generation"`
	MaintenancePolicy   string                           `json:"maintenance_policy"`
	Locks               []string                         `json:"locks"`
}
