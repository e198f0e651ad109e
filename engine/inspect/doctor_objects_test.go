package inspect

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/yaml"
)

// ward is a cluster with these objects by kind, as YAML.
type ward map[string][]string

func (w ward) List(_ context.Context, _, kind string) (objects []map[string]any, err error) {
	for _, text := range w[kind] {
		var obj map[string]any
		if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

// examined is a cluster that answers lists and requests for its version. Other requests panic.
type examined struct {
	Cluster // what is not asked here
	ward
	version string // of the API server
}

func (e examined) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	return e.ward.List(ctx, apiVersion, kind)
}

func (e examined) Server(context.Context) (version.Info, error) {
	return version.Info{GitVersion: e.version}, nil
}

// TestSuspendedNodePlanIsReported as suspended, and not as waiting for its controller.
func TestSuspendedNodePlanIsReported(t *testing.T) {
	in := ward{"NodePlan": {
		`{apiVersion: lkeplan.dev/v1alpha1, kind: NodePlan, metadata: {namespace: ten, name: a, generation: 2}, spec: {suspend: true},
			status: {conditions: [{type: Ready, status: "False", message: no}]}}`,
		`{apiVersion: lkeplan.dev/v1alpha1, kind: NodePlan, metadata: {namespace: ten, name: b}, spec: {suspend: false}}`,
	}}
	found := Installation{Cluster: examined{ward: in}}.objects(t.Context())
	if len(found) != 2 || found[0].Text != "it is suspended: nothing is compared or applied" ||
		found[0].Do != "lkeplan nodeplan resume -n ten a" || found[1].Text != "not ready: no controller has reported on it; is the lkeplan controller running?" {
		t.Errorf("%+v", found)
	}
}
