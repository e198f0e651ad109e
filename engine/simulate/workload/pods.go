package workload

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas"
)

// devices are the short names of resources.
var devices = map[string]corev1.ResourceName{
	"cpu": corev1.ResourceCPU, "memory": corev1.ResourceMemory, "gpu": schemas.GPU, "vpu": schemas.VPU,
	"storage": corev1.ResourceEphemeralStorage,
}

var shape = regexp.MustCompile(`^([0-9]+)x(.+)$`)

// ParsePods reads pods that are written in a few characters: how many, and what each asks
// for, such as 200x1cpu,2Gi or 4x2cpu,8Gi,gpu=1.
func ParsePods(text string) (simulate.Workload, error) {
	load := simulate.Workload{Name: text}
	wrong := func(why string) (simulate.Workload, error) {
		return load, fmt.Errorf("%s: %s; write how many and what each asks for: 200x1cpu,2Gi or 4x500mcpu,8Gi,gpu=1",
			text, why)
	}
	m := shape.FindStringSubmatch(text)
	if m == nil {
		return wrong("it does not begin with a number of pods and an x")
	}
	pods, err := strconv.Atoi(m[1])
	if err != nil || pods < 1 || pods > simulate.MaxPods {
		return wrong(fmt.Sprintf("the number of pods must be from 1 to %d", simulate.MaxPods))
	}
	requests := corev1.ResourceList{}
	for part := range strings.SplitSeq(m[2], ",") {
		name, amount := split(part)
		q, err := resource.ParseQuantity(amount)
		switch _, twice := requests[name]; {
		case name == "":
			return wrong(fmt.Sprintf("%q is not an amount of memory, such as 2Gi, nor of CPU, such as 2cpu", part))
		case err != nil || q.Sign() <= 0:
			return wrong(fmt.Sprintf("%q is not an amount", part))
		case twice:
			return wrong(fmt.Sprintf("%s is there twice", name))
		}
		requests[name] = q
	}
	load.Pods = pods
	load.Pod.Spec.Containers = []corev1.Container{{
		Name: "main", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limitsOf(requests)},
	}}
	return load, nil
}

// split says which resource a part is of; "" where it does not say.
func split(part string) (corev1.ResourceName, string) {
	if name, amount, named := strings.Cut(part, "="); named {
		if long, known := devices[name]; known {
			return long, amount
		}
		return corev1.ResourceName(name), amount
	}
	if amount, cpu := strings.CutSuffix(part, "cpu"); cpu {
		return corev1.ResourceCPU, amount
	}
	if strings.Trim(part, "0123456789.") == "" || strings.HasSuffix(part, "m") {
		return "", part
	}
	return corev1.ResourceMemory, part
}

// limitsOf are the limits that Kubernetes wants of devices.
func limitsOf(requests corev1.ResourceList) corev1.ResourceList {
	limits := corev1.ResourceList{}
	for name, q := range requests {
		if strings.Contains(string(name), "/") {
			limits[name] = q
		}
	}
	return limits
}
