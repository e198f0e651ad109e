package instancetype

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/schemas"
)

// AmountOf writes an amount with the name of its resource: "4.5 CPUs", "64Gi of memory".
func AmountOf(name corev1.ResourceName, q resource.Quantity) string {
	switch {
	case name == corev1.ResourceCPU && q.CmpInt64(1) == 0:
		return "1 CPU"
	case name == corev1.ResourceCPU:
		return Amount(name, q) + " CPUs"
	}
	return Amount(name, q) + " of " + string(name)
}

// Amount writes an amount of a resource in readable units; CPUs are a decimal number.
func Amount(name corev1.ResourceName, q resource.Quantity) string {
	switch name {
	case corev1.ResourceCPU:
		return strconv.FormatFloat(float64(q.MilliValue())/1000, 'f', -1, 64)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return schemas.Bytes(q.Value())
	}
	return q.String()
}
