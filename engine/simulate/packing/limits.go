package packing

import (
	"errors"
	"fmt"

	"github.com/awslabs/operatorpkg/serrors"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"
)

// within are the plan types that what is left of a pool's limits has room for.
func within(template *scheduling.NodeClaimTemplate, left corev1.ResourceList) ([]*cloudprovider.InstanceType, error) {
	pool := func(text string) error {
		return serrors.Wrap(errors.New(text), "NodePool", klog.KRef("", template.NodePoolName))
	}
	if nodes, capped := left[resources.Node]; capped && nodes.IsZero() {
		return nil, pool("node limits have been exhausted for nodepool")
	}
	var its []*cloudprovider.InstanceType
	for _, it := range template.InstanceTypeOptions {
		viable := true
		for name, most := range left {
			viable = viable && resources.Cmp(it.Capacity[name], most) <= 0
		}
		if viable {
			its = append(its, it)
		}
	}
	if len(its) == 0 {
		return nil, pool("all available instance types exceed limits for nodepool")
	}
	return its, nil
}

// less is what is left of limits after a node that may be the largest of the types.
func less(left corev1.ResourceList, its []*cloudprovider.InstanceType) corev1.ResourceList {
	if len(its) == 0 {
		return left
	}
	all := make([]corev1.ResourceList, 0, len(its))
	for _, it := range its {
		all = append(all, it.Capacity)
	}
	most, result := resources.MaxResources(all...), corev1.ResourceList{}
	for name, q := range left {
		q = q.DeepCopy()
		q.Sub(most[name])
		result[name] = q
	}
	return result
}

// refusals are the errors of all pools.
type refusals []error

// Error implements error.
func (r refusals) Error() string { return fmt.Sprint([]error(r)) }

// Errors are the single ones, as those that Karpenter joins have them.
func (r refusals) Errors() []error { return r }

func parts(err error) []error {
	if several, ok := err.(interface{ Errors() []error }); ok {
		return several.Errors()
	}
	return []error{err}
}
