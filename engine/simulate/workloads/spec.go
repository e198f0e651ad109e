package workloads

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/lkeplan/lkeplan/engine/simulate"
)

// class reads a RuntimeClass.
func (r *reader) class(o Object) error {
	class, err := typed[nodev1.RuntimeClass](r, o)
	r.classes[class.Name] = class
	return err
}

// complete checks the pods of an object as far as amounts go, and adds what the API server
// adds to pods.
func (r *reader) complete(o Object, spec *corev1.PodSpec) error {
	if err := r.run(o, spec); err != nil {
		return err
	}
	if len(spec.Containers) == 0 {
		return errors.New("its pods have no containers")
	}
	if spec.Resources != nil {
		if err := amounts("its pods ask for", "its pods are limited to", *spec.Resources); err != nil {
			return err
		}
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if err := amounts(fmt.Sprintf("container %s asks for", c.Name), fmt.Sprintf("container %s is limited to", c.Name),
			c.Resources); err != nil {
			return err
		}
	}
	if err := simulate.CheckPod(*spec); err != nil {
		return err
	}
	return positive("the overhead of its pods is", spec.Overhead)
}

// run adds what the RuntimeClass of pods asks for, and where they can be.
func (r *reader) run(o Object, spec *corev1.PodSpec) error {
	if spec.RuntimeClassName == nil || *spec.RuntimeClassName == "" {
		return nil
	}
	class, given := r.classes[*spec.RuntimeClassName]
	if !given {
		r.note("%s names the RuntimeClass %s, which is not given: what it adds to requests, and which nodes it is for, "+
			"does not count.", title(o.Fields), *spec.RuntimeClassName)
		return nil
	}
	if class.Overhead != nil && spec.Overhead == nil {
		spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return nil
	}
	if spec.NodeSelector == nil {
		spec.NodeSelector = map[string]string{}
	}
	for label, value := range class.Scheduling.NodeSelector {
		if own, there := spec.NodeSelector[label]; there && own != value {
			return fmt.Errorf("it selects nodes by %s=%s, and its RuntimeClass %s by %s=%s", label, own, class.Name,
				label, value)
		}
		spec.NodeSelector[label] = value
	}
	spec.Tolerations = append(spec.Tolerations, class.Scheduling.Tolerations...)
	return nil
}

// amounts checks what is asked for, and what it is limited to.
func amounts(asks, limited string, r corev1.ResourceRequirements) error {
	if err := positive(asks, r.Requests); err != nil {
		return err
	}
	return positive(limited, r.Limits)
}

// positive is an error where an amount is less than zero.
func positive(what string, list corev1.ResourceList) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if q := list[name]; q.Sign() < 0 {
			return fmt.Errorf("%s %s of %s, and no amount is less than zero", what, q.String(), name)
		}
	}
	return nil
}
