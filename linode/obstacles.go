package linode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// The reasons of events on pods.
const (
	reasonNotReady = "NodePoolNotReady"
	ReasonStock    = "PlanTypeOutOfStock" // its message says which, and what is tried next
	ReasonSilence  = "LinodeNoAnswer"
	ReasonFull     = "PlacementGroupFull"
)

// obstacles are the reasons why pods may wait.
type obstacles struct {
	ready, unready []*karpv1.NodePool // those that are ready in the order in which Karpenter tries them
	classes        map[string]*linodev1alpha1.LinodeNodeClass
	types          []*cloudprovider.InstanceType
	blocked        map[string]time.Time // plan types that Linode has no machines of
	region         string
	full           map[string]string // why NodePools have no room, by name
}

// obstacle is why one pod waits. The reason is "" if nothing blocks it.
type obstacle struct {
	pool         *karpv1.NodePool
	reason, text string
}

func (o obstacles) nothing() bool {
	if len(o.unready)+len(o.blocked)+len(o.full) > 0 {
		return false
	}
	for _, class := range o.classes {
		if silence(class) != "" {
			return false
		}
	}
	return true
}

// silence is the message of a class about a Linode API that does not answer; "" if it answers.
func silence(class *linodev1alpha1.LinodeNodeClass) string {
	c := class.StatusConditions(status.WithObservedOnly()).Get(linodev1alpha1.ConditionLinodeAnswers)
	if c.IsFalse() && c.Reason == api.ReasonNoAnswer {
		return c.Message
	}
	return ""
}

// of returns why a pod waits: the obstacle that must be fixed first.
func (o obstacles) of(pod *corev1.Pod) obstacle {
	var first *karpv1.NodePool
	for _, pool := range o.ready {
		if _, ok := instancetype.ForPod(pool, pod); !ok {
			continue
		}
		first = pool
		if class := o.classes[pool.Spec.Template.Spec.NodeClassRef.Name]; class != nil && silence(class) != "" {
			return obstacle{pool, ReasonSilence, nodeclaim.Shorten(silence(class) + "; a node is created when it answers again")}
		}
		break
	}
	if first != nil && o.full[first.Name] != "" && !o.roomElsewhere(pod) {
		return obstacle{first, ReasonFull, nodeclaim.Shorten(fmt.Sprintf("NodePool %s: %s; the pod waits until one of "+
			"them is removed",
			first.Name, o.full[first.Name]))}
	}
	if first != nil {
		return o.stock(pod, first)
	}
	for _, pool := range o.unready {
		if _, ok := instancetype.ForPod(pool, pod); ok {
			return obstacle{pool, reasonNotReady, fmt.Sprintf("NodePool %s is not ready, and no other NodePool fits this "+
				"pod: %s",
				pool.Name, o.whyNot(pool))}
		}
	}
	return obstacle{}
}

// roomElsewhere reports whether a NodePool that is not full fits a pod.
func (o obstacles) roomElsewhere(pod *corev1.Pod) bool {
	return slices.ContainsFunc(o.ready, func(pool *karpv1.NodePool) bool {
		_, ok := instancetype.ForPod(pool, pod)
		return ok && o.full[pool.Name] == ""
	})
}

// stock returns the out-of-stock plan types that would fit a pod, and the one that is tried next. First is
// the NodePool that the pod uses first.
func (o obstacles) stock(pod *corev1.Pod, first *karpv1.NodePool) obstacle {
	if len(o.blocked) == 0 {
		return obstacle{}
	}
	requests := resources.RequestsForPods(pod)
	next, of := o.next(pod, requests)
	var out []string
	for _, it := range o.types {
		want, _ := instancetype.ForPod(first, pod)
		until, blocked := o.blocked[it.Name]
		if !blocked || want.Intersects(it.Requirements) != nil || !resources.Fits(requests, it.Allocatable()) ||
			of == first && !dearer(next, it) {
			continue
		}
		out = append(out, fmt.Sprintf("%s (next attempt at %s)", it.Name, until.UTC().Format("15:04:05 UTC")))
	}
	if len(out) == 0 {
		return obstacle{}
	}
	text := fmt.Sprintf("Linode has no capacity in %s for %s", o.region, strings.Join(out, ", "))
	switch {
	case next == nil:
		text += "; no other plan type of its NodePools fits, so the pod waits for these"
	case of != first:
		text += fmt.Sprintf("; %s of NodePool %s is tried next", next.Name, of.Name)
	default:
		text += fmt.Sprintf("; %s is tried next", next.Name)
	}
	return obstacle{first, ReasonStock, nodeclaim.Shorten(text)}
}

// next is the plan type that a pod would have a node of now, and of which NodePool; nil if there is none.
func (o obstacles) next(pod *corev1.Pod, requests corev1.ResourceList) (*cloudprovider.InstanceType, *karpv1.NodePool) {
	for _, pool := range o.ready {
		want, ok := instancetype.ForPod(pool, pod)
		if !ok {
			continue
		}
		if fit := instancetype.Candidates(o.types, want, requests); len(fit) > 0 {
			return fit[0], pool
		}
	}
	return nil, nil
}

// dearer reports whether a plan type costs more than another, or comes after it at the same price.
func dearer(a, b *cloudprovider.InstanceType) bool {
	return cmp.Or(cmp.Compare(a.Offerings[0].Price, b.Offerings[0].Price), strings.Compare(a.Name, b.Name)) > 0
}

func (o obstacles) whyNot(pool *karpv1.NodePool) string {
	// If the class does not exist, only the pool has a message.
	text := NotReady(pool, o.classes[pool.Spec.Template.Spec.NodeClassRef.Name])
	if text == "" {
		return "it has not been checked yet"
	}
	return nodeclaim.Shorten(text)
}

// NotReady returns the messages of the conditions that make a NodePool not ready, from its class if it is
// given; "" if there are none.
func NotReady(pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) string {
	var texts []string
	conditions := pool.StatusConditions(status.WithObservedOnly())
	if c := conditions.Get(karpv1.ConditionTypeValidationSucceeded); c.IsFalse() {
		texts = append(texts, c.Message)
	}
	if c := conditions.Get(karpv1.ConditionTypeNodeClassReady); c.IsFalse() {
		text := c.Message
		if class != nil { // its condition Ready only names the one that is false
			own := class.StatusConditions(status.WithObservedOnly())
			for _, kind := range []string{linodev1alpha1.ConditionLinodeAnswers, linodev1alpha1.ConditionValidationSucceeded} {
				if c := own.Get(kind); c.IsFalse() {
					text = c.Message
				}
			}
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}
