package lint

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/mode"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// samples are what a class that says the least may have in addition, by argument. Without
// a value here an argument fails the test.
var samples = map[string]any{
	"tags": []any{"web"}, "firewall_id": int64(1), "kubernetes_version": "1.33", "disk_encryption": "enabled",
	"image": "linode/debian12", "image_label": "golden", "firewall_label": "web", "vpc_label": "a", "subnet_label": "b",
	"placement_group_label": "c", "authorized_keys": []any{"ssh-ed25519 A"}, "authorized_users": []any{"ana"},
	"backups_enabled": true, "replace_before_maintenance": "24h", "consolidation": map[string]any{"beforePaidHourEnds": "10m"}, "swap_size": int64(512), "vpc_id": int64(1), "subnet_id": int64(2), "kernel": "linode/latest-64bit",
	"kubelet": map[string]any{"failSwapOn": false}, "placement_group": map[string]any{"id": int64(3)},
	"bootstrap": map[string]any{"kind": "k3s"}, "ipv6": map[string]any{"enableSLAAC": true},
	"os_disk": map[string]any{"size": "20Gi"}, "data_disk": map[string]any{"sdb": map[string]any{"size": "20Gi"}},
	"os_disk.label": "a", "os_disk.filesystem": "ext4", "os_disk.disk_id": int64(1),
}

// needed are what an argument is refused without, in instance mode.
var needed = map[string]string{
	"vpc_id": "subnet_id", "subnet_id": "vpc_id", "vpc_label": "subnet_label", "subnet_label": "vpc_label", "ipv6": "vpc_id subnet_id",
	"os_disk.label": "os_disk", "os_disk.filesystem": "os_disk", "os_disk.disk_id": "os_disk",
}

// TestTheTableKnowsWhatHasAnEffectInWhichMode: what it says is what the hash says, and what
// the provider refuses.
func TestTheTableKnowsWhatHasAnEffectInWhichMode(t *testing.T) {
	paths := map[string]string{}
	try := func(name, path string, modes schemas.Modes) {
		value, ok := samples[name]
		if !ok {
			t.Errorf("no value for %s: write one", name)
			return
		}
		spec := map[string]any{}
		set := func(path string, value any) {
			keys := strings.Split(path, ".")
			last := len(keys) - 1
			manifest.Ensure(spec, keys[:last]...)[keys[last]] = runtime.DeepCopyJSONValue(value) // set writes into it
		}
		for _, other := range strings.Fields(needed[name]) {
			set(paths[other], samples[other])
		}
		if name != "image_label" {
			set("image", "linode/debian12")
		}
		set(path, value)
		problem := mode.Of(catalog.Instances).ClassProblem(typedSpec(t, spec))
		if refused := modes.NotInstances != ""; refused != (problem != "") {
			t.Errorf("%s: the table says %q of instance mode, and the provider %q", name, modes.NotInstances, problem)
		}
		if strings.Contains(name, ".") {
			return // of the block the hash says it
		}
		field, _, _ := strings.Cut(path, ".")
		inPlace := name == "tags" || name == "replace_before_maintenance" || name == "consolidation" // and has an effect
		if refused := modes.NotInstances != ""; refused == (rolls(schemas.ModeInstance, field, spec[field]) || inPlace) {
			t.Errorf("%s: the table says %q of instance mode, and it enters the hash there: %v", name, modes.NotInstances, !refused)
		}
		inPlace = inPlace || name == "kubernetes_version"
		if modes.NoEffectOnLKE == (rolls("", field, spec[field]) || inPlace) {
			t.Errorf("%s: the table says of LKE that it has no effect: %v; the hash says otherwise", name, modes.NoEffectOnLKE)
		}
	}
	of := func(do func(name, path string, modes schemas.Modes)) {
		for _, arg := range schemas.NodeClass.Args {
			if path, ok := strings.CutPrefix(arg.Path, "spec."); ok {
				do(arg.Name, path, arg.Modes)
			}
		}
		for _, block := range schemas.NodeClass.Blocks {
			path, ok := strings.CutPrefix(block.Path, "spec.")
			if !ok {
				continue
			}
			do(block.Type, path, block.Modes)
			for _, arg := range block.Args {
				if arg.Modes != (schemas.Modes{}) {
					do(block.Type+"."+arg.Name, path+"."+arg.Path, arg.Modes)
				}
			}
		}
	}
	of(func(name, path string, _ schemas.Modes) { paths[name] = path })
	of(try)
}

func typedSpec(t *testing.T, spec map[string]any) linodev1alpha1.LinodeNodeClassSpec {
	t.Helper()
	class := &linodev1alpha1.LinodeNodeClass{}
	raw := map[string]any{"spec": runtime.DeepCopyJSON(spec)}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, class); err != nil {
		t.Fatalf("%v: %v", spec, err)
	}
	return class.Spec
}
