package sim

import "slices"

// Breakable returns the assumptions of linode/unverified.md that Config.Breaks can make false. Their names are
// those of the experiments of "sandbox probe" that test them.
func Breakable() []string {
	return []string{
		"boots", "builds", "closed", "count", "disk", "downgrade", "events", "filter", "firewall", "gpu", "group-full",
		"group-label", "group-size", "group-unique", "label-taken", "labelled", "labels", "last", "listed", "memory",
		"memory-enterprise", "names", "null-slot", "plan-512", "pool-size", "prices", "put", "recycle", "reserved", "scopes",
		"stays", "swap", "taints", "token", "uninitialized", "upgrade", "version",
	}
}

func (c Config) breaks(assumption string) bool { return slices.Contains(c.Breaks, assumption) }

func (st *state) breaks(assumption string) bool { return st.cfg.breaks(assumption) }

// disk is a disk of a Linode, as GET /linode/instances/{id}/disks lists it.
type disk struct {
	ID         int    `json:"id"`
	Label      string `json:"label"`
	Status     string `json:"status"`
	Size       int    `json:"size"`
	Filesystem string `json:"filesystem"`
}

// listDisks lists the disks of a Linode: one with the image, or the system of a pool's node, and one for swap. That
// nodes of pools have one for swap is an assumption.
func (st *state) listDisks(i *instance, q *request) (any, error) {
	var disks []disk
	if i.Image != "" || i.slot != nil {
		disks = append(disks, disk{10 * i.ID, "root", "ready", i.Plan.DiskMiB - i.SwapSize, "ext4"})
	}
	if swap := i.SwapSize; i.Image != "" && (swap > 0 || st.breaks("swap")) {
		disks = append(disks, disk{10*i.ID + 1, "swap", "ready", swap, "swap"})
	}
	if i.slot != nil && st.breaks("disk") {
		disks = append(disks, disk{10*i.ID + 2, "data", "ready", 1000, "raw"})
	}
	return listPage(q, disks)
}
