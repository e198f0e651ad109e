package engine_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine"
	"github.com/lkeplan/lkeplan/kube"
)

// A recorder is a cluster that notes what is asked of it.
type recorder struct {
	applied []string
	waited  chan string
}

func (r *recorder) Apply(_ context.Context, obj map[string]any) (kube.Outcome, error) {
	r.applied = append(r.applied, obj["kind"].(string))
	return kube.Created, nil
}

func (r *recorder) WaitReady(_ context.Context, obj map[string]any) error {
	r.waited <- obj["kind"].(string)
	return nil
}

// TestApply: node classes come first, and only what some controller looks at
// is waited for.
func TestApply(t *testing.T) {
	var objects []map[string]any
	for _, kind := range []string{"CapacityBuffer", "CapacityLimit", "NodePool", "LinodeNodeClass"} {
		objects = append(objects, map[string]any{"kind": kind, "metadata": map[string]any{"name": "a"}})
	}
	cluster := &recorder{waited: make(chan string, len(objects))}
	if err := engine.Apply(context.Background(), cluster, objects, func(engine.Progress) {}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"LinodeNodeClass", "CapacityBuffer", "CapacityLimit", "NodePool"}, cluster.applied); diff != "" {
		t.Errorf("applied (-want +got)\n%s", diff)
	}
	if err := engine.WaitReady(context.Background(), cluster, objects, func(engine.Progress) {}); err != nil {
		t.Fatal(err)
	}
	close(cluster.waited)
	waited := map[string]bool{}
	for kind := range cluster.waited {
		waited[kind] = true
	}
	if diff := cmp.Diff(map[string]bool{"LinodeNodeClass": true, "NodePool": true}, waited); diff != "" {
		t.Errorf("waited for (-want +got)\n%s", diff)
	}
}
