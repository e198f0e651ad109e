package workloads

import (
	"errors"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// scale is how many pods an autoscaler gives a workload.
type scale struct {
	by   string // the autoscaler
	pods int32
	used bool
}

// scaler reads an autoscaler. Its bounds are written alike in all versions.
func (r *reader) scaler(o Object) error {
	if manifest.Kind(o.Fields) != "HorizontalPodAutoscaler" {
		return nil
	}
	bounds := map[string]any{}
	if spec, ok := o.Fields["spec"].(map[string]any); ok {
		for _, name := range []string{"scaleTargetRef", "minReplicas", "maxReplicas"} {
			if value, ok := spec[name]; ok {
				bounds[name] = value
			}
		}
	}
	hpa, err := typed[autoscalingv2.HorizontalPodAutoscaler](r, Object{o.File, map[string]any{"spec": bounds}})
	if err != nil {
		return err
	}
	target := hpa.Spec.ScaleTargetRef
	if target.Kind == "" || target.Name == "" || hpa.Spec.MaxReplicas < 1 {
		return errors.New("spec.scaleTargetRef and spec.maxReplicas must be there")
	}
	s := &scale{by: title(o.Fields), pods: ptr.Deref(hpa.Spec.MinReplicas, 1)}
	if r.most {
		s.pods = hpa.Spec.MaxReplicas
	}
	r.scaled[key{target.Kind, keyOf(o.Fields).namespace, target.Name}] = s
	return nil
}
