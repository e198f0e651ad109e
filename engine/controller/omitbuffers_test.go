package controller

import (
	"errors"
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// failing is an API server that does not answer.
type failing struct{ meta.RESTMapper }

func (failing) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("no answer")
}

// TestBuffersAreOmittedWithoutTheirCRD, and only then: an API server that does not answer is an error.
func TestBuffersAreOmittedWithoutTheirCRD(t *testing.T) {
	with := meta.NewDefaultRESTMapper(nil)
	with.Add(schema.GroupVersionKind{Group: "autoscaling.x-k8s.io", Version: "v1beta1", Kind: "CapacityBuffer"}, meta.RESTScopeNamespace)
	for _, tt := range []struct {
		name   string
		mapper meta.RESTMapper
		gate   bool
		want   bool
		fails  bool
	}{
		{"the CRD is there", with, true, true, false},
		{"the CRD is not there", meta.NewDefaultRESTMapper(nil), true, false, false},
		{"no answer", failing{}, true, true, true},
		{"the gate is off", failing{}, false, false, false},
	} {
		cfg := Config{Log: slog.New(slog.DiscardHandler)}
		cfg.Karpenter.Gates.CapacityBuffer = tt.gate
		if err := cfg.omitBuffers(tt.mapper); (err != nil) != tt.fails {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := cfg.Karpenter.Gates.CapacityBuffer; got != tt.want {
			t.Errorf("%s: the gate is %t", tt.name, got)
		}
	}
}
