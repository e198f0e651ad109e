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
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// The reasons of events on pods.
const (
	reasonNotReady = "NodePoolNotReady"
	ReasonStock    = "PlanTypeOutOfStock" // the message names the plan type, and the one that is tried next
	ReasonSilence  = "LinodeNoAnswer"
	ReasonFull     = "PlacementGroupFull"
)

// obstacles are the reasons why pods may wait.
type obstacles struct {
	ready, unready []*karpv1.NodePool // ready has the order in which Karpenter tries them
	classes        map[string]*linodev1alpha1.LinodeNodeClass
	types          []*cloudprovider.InstanceType
	blocked        map[string]time.Time // plan types that are out of stock
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
		if silenceMessage(class) != "" {
			return false
		}
	}
	return true
}

// silenceMessage returns the message of a class about a Linode API that does not answer; "" if it answers.
func silenceMessage(class *linodev1alpha1.LinodeNodeClass) string {
	c := class.StatusConditions(status.WithObservedOnly()).Get(linodev1alpha1.ConditionLinodeAnswers)
	if c.IsFalse() && c.Reason == api.ReasonNoAnswer {
		return c.Message
	}
	return ""
}

// fit is a NodePool that a pod can use, and what both require of a node.
type fit struct {
	pool *karpv1.NodePool
	want scheduling.Requirements
}

// poolsThatFit returns the NodePools that a pod can use.
func poolsThatFit(pools []*karpv1.NodePool, pod *corev1.Pod) (fits []fit) {
	for _, pool := range pools {
		if want, ok := instancetype.ForPod(pool, pod); ok {
			fits = append(fits, fit{pool, want})
		}
	}
	return fits
}

// obstacleOf returns why a pod waits: the obstacle that must be removed first.
func (o obstacles) obstacleOf(pod *corev1.Pod) obstacle {
	fits := poolsThatFit(o.ready, pod)
	if len(fits) == 0 {
		unready := poolsThatFit(o.unready, pod)
		if len(unready) == 0 {
			return obstacle{}
		}
		pool := unready[0].pool
		return obstacle{pool, reasonNotReady, fmt.Sprintf("NodePool %s is not ready, and no other NodePool fits this "+
			"pod: %s", pool.Name, o.whyNot(pool))}
	}
	first := fits[0].pool
	if class := o.classes[first.Spec.Template.Spec.NodeClassRef.Name]; class != nil && silenceMessage(class) != "" {
		return obstacle{first, ReasonSilence, nodeclaim.Shorten(silenceMessage(class) + "; a node is created when it answers again")}
	}
	roomElsewhere := slices.ContainsFunc(fits, func(f fit) bool { return o.full[f.pool.Name] == "" })
	if why := o.full[first.Name]; why != "" && !roomElsewhere {
		return obstacle{first, ReasonFull, nodeclaim.Shorten(fmt.Sprintf("NodePool %s: %s; the pod waits until one of "+
			"them is removed", first.Name, why))}
	}
	return o.stock(pod, fits)
}

// stock returns the out-of-stock plan types that would fit a pod, and the one that is tried next. The pod uses the
// first NodePool first.
func (o obstacles) stock(pod *corev1.Pod, fits []fit) obstacle {
	if len(o.blocked) == 0 {
		return obstacle{}
	}
	requests, first := resources.RequestsForPods(pod), fits[0]
	next, of := o.next(fits, requests)
	var out []string
	for _, it := range o.types {
		until, blocked := o.blocked[it.Name]
		if !blocked || first.want.Intersects(it.Requirements) != nil || !resources.Fits(requests, it.Allocatable()) ||
			of == first.pool && !isDearer(next, it) {
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
	case of != first.pool:
		text += fmt.Sprintf("; %s of NodePool %s is tried next", next.Name, of.Name)
	default:
		text += fmt.Sprintf("; %s is tried next", next.Name)
	}
	return obstacle{first.pool, ReasonStock, nodeclaim.Shorten(text)}
}

// next returns the plan type of the node that a pod would get now, and its NodePool; nil if there is none.
func (o obstacles) next(fits []fit, requests corev1.ResourceList) (*cloudprovider.InstanceType, *karpv1.NodePool) {
	for _, f := range fits {
		if types := instancetype.Candidates(o.types, f.want, requests); len(types) > 0 {
			return types[0], f.pool
		}
	}
	return nil, nil
}

// isDearer reports whether a plan type costs more than another, or comes after it at the same price.
func isDearer(a, b *cloudprovider.InstanceType) bool {
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
