package workloads

import (
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// scale is how many pods an autoscaler gives a workload.
type scale struct {
	by    string // the autoscaler
	least int32
	pods  int32
	used  bool
}

// scaler reads an autoscaler. Its bounds are written alike in all versions.
func (r *reader) scaler(o Object) error {
	bounds := map[string]any{}
	if spec, ok := o.Fields["spec"].(map[string]any); ok {
		for _, name := range []string{"scaleTargetRef", "minReplicas", "maxReplicas"} {
			if value, ok := spec[name]; ok {
				bounds[name] = value
			}
		}
	}
	only := Object{File: o.File, Document: o.Document, Fields: map[string]any{
		"kind": manifest.Kind(o.Fields), "metadata": o.Fields["metadata"], "spec": bounds,
	}}
	hpa, err := typed[autoscalingv2.HorizontalPodAutoscaler](r, only)
	if err != nil {
		return err
	}
	target := hpa.Spec.ScaleTargetRef
	if target.Kind == "" || target.Name == "" || hpa.Spec.MaxReplicas < 1 {
		return errors.New("spec.scaleTargetRef and spec.maxReplicas must be there")
	}
	s := &scale{by: title(o.Fields), pods: ptr.Deref(hpa.Spec.MinReplicas, 1)}
	s.least = s.pods
	k := key{target.Kind, keyOf(o.Fields).namespace, target.Name}
	switch other := r.scaled[k]; {
	case s.pods < 0, s.pods > hpa.Spec.MaxReplicas:
		return fmt.Errorf("minReplicas is %d, and maxReplicas %d: the one must be from 0 to the other", s.pods,
			hpa.Spec.MaxReplicas)
	case other != nil:
		return fmt.Errorf("%s %s is scaled by %s, too", target.Kind, target.Name, other.by)
	}
	if r.most {
		s.pods = hpa.Spec.MaxReplicas
	}
	r.scaled[k] = s
	return nil
}

// scale is how many of so many pods an object has where an autoscaler scales it. One that
// would leave at least a pod leaves an object alone that somebody has scaled to none.
func (r *reader) scale(o Object, pods int32) int32 {
	s := r.scaled[keyOf(o.Fields)]
	if s == nil {
		return pods
	}
	s.used = true
	if pods == 0 && s.least > 0 {
		r.note("%s does nothing: %s has replicas: 0, with which an autoscaler is off.", s.by, title(o.Fields))
		return 0
	}
	return s.pods
}
