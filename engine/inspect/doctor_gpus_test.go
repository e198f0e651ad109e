package inspect

import (
	"context"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// lists is a cluster that only lists, by kind.
type lists struct {
	Cluster // what is not asked here
	kinds   map[string][]map[string]any
}

func (l lists) List(_ context.Context, _, kind string) ([]map[string]any, error) {
	return l.kinds[kind], nil
}

// TestGPUPoolWithoutDevicePlugin: pods of such a pool would stay pending, which is reported first.
func TestGPUPoolWithoutDevicePlugin(t *testing.T) {
	named := func(name, spec string) map[string]any {
		var obj map[string]any
		if err := utiljson.Unmarshal([]byte(`{"metadata": {"name": "`+name+`"}, `+spec+`}`), &obj); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	gpu := named("gpu", `"spec": {"template": {"spec": {"requirements": [
		{"key": "karpenter.k8s.linode/instance-class", "operator": "In", "values": ["gpu"]}]}}}`)
	plain := named("plain", `"spec": {"template": {"spec": {"requirements": []}}}`)
	for name, tt := range map[string]struct {
		kinds map[string][]map[string]any
		want  Level // "" for no finding
	}{
		"no pool needs GPUs":    {map[string][]map[string]any{"NodePool": {plain}}, ""},
		"a pool cannot be read": {map[string][]map[string]any{"NodePool": {plain, named("odd", `"spec": {"template": 5}`)}}, LevelWarn},
		"nothing offers GPUs": {map[string][]map[string]any{
			"NodePool": {plain, gpu}, "Node": {named("n", `"status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "0"}}`)},
			"DaemonSet": {named("d", `"spec": {"template": {"spec": {"containers": [{"image": "calico"}]}}}`)},
		}, LevelWarn},
		"a node offers them": {map[string][]map[string]any{
			"NodePool": {gpu}, "Node": {named("n", `"status": {"allocatable": {"nvidia.com/gpu": "1"}}`)},
		}, LevelOK},
		"a device plugin is installed": {map[string][]map[string]any{
			"NodePool": {gpu}, "DaemonSet": {named("d", `"spec": {"template": {"spec": {"containers": [
				{"image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}]}}}`)},
		}, LevelOK},
	} {
		found := Installation{Cluster: lists{kinds: tt.kinds}}.gpus(t.Context())
		switch {
		case tt.want == "" && len(found) == 0:
		case len(found) != 1 || found[0].Level != tt.want || (found[0].Do == "") != (tt.want == LevelOK):
			t.Errorf("%s: %+v, want %q", name, found, tt.want)
		}
	}
}
