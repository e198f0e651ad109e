package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// versionField is the field of a LinodeNodeClass with the Kubernetes version of its nodes. It is not in the hash of the
// class: the provider compares it with the version of each node.
const versionField = "lkeK8sVersion"

// upgraded describes the old and the new version of the replaced nodes; "" if no version changes.
func (j judge) upgraded(nodes []Node) string {
	var from []string
	to := ""
	for _, n := range nodes {
		if want := j.versions[n.Class]; catalog.OutdatedVersion(n.Version, want) {
			from, to = append(from, n.Version), want
		}
	}
	if to == "" {
		return ""
	}
	slices.Sort(from)
	return strings.Join(slices.Compact(from), ", ") + " → " + to
}

// Upgrades compares the desired version of the nodes of each class with that of the control plane. The provider writes
// both into the status of the live class. A newer control plane is drift: a user or Linode upgraded it, and the nodes
// have not followed. An older one leads to a note.
func Upgrades(head []config.Object, live map[manifest.Key]map[string]any) (drifts []Drift, notes []string) {
	for _, o := range head {
		if o.Kind() != "LinodeNodeClass" || live[o.Key()] == nil {
			continue
		}
		status := func(field string) string { return manifest.Text(live[o.Key()], "status", field) }
		controlPlane, written := status("controlPlaneVersion"), manifest.Text(o.Manifest, "spec", versionField)
		version := cmp.Or(written, status("kubernetesVersion"))
		switch {
		case catalog.NewerVersion(controlPlane, version):
			drifts = append(drifts, Drift{
				Addr: o.Addr.String(), Kind: o.Kind(), Name: o.Name(), Path: "status.controlPlaneVersion",
				Applied: version, Live: controlPlane, Owners: []string{"Linode"}, Kept: true,
				Detail: catalog.VersionAhead(controlPlane, version, written != ""),
			})
		case !catalog.ReachesVersion(controlPlane, version):
			notes = append(notes, fmt.Sprintf("%s: the control plane runs %s. Its nodes are replaced with %s after the control "+
				"plane is upgraded, in Cloud Manager or with the Linode API.", o.Addr, controlPlane, version))
		}
	}
	return drifts, notes
}
