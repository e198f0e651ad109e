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

// versionField is the field of a LinodeNodeClass that names the Kubernetes version
// of its nodes. The hash of the class leaves it out: the provider compares it with
// the version of each node.
const versionField = "lkeK8sVersion"

// upgraded says from which versions to which one the nodes go that are replaced;
// "" where none has another version than it will have.
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

// Upgrades compares the version that the nodes of each class of the head are to have
// with that of the control plane, as the provider has written both into the status of
// the live class. A control plane that is ahead is drift: somebody, or Linode, has
// upgraded it, and the nodes have not followed. One that is behind is said in notes.
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
			notes = append(notes, fmt.Sprintf("%s: the control plane has %s, and its nodes get %s when that is upgraded, in "+
				"Cloud Manager or by the Linode API. They are replaced then.", o.Addr, controlPlane, version))
		}
	}
	return drifts, notes
}
