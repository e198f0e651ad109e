package lke

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Classes implements the Rules for classes whose nodes LKE creates.
type Classes struct {
	client  client.Client
	cluster api.Cluster
	control controlPlane
	account account // answers are kept for some minutes
	events  events.EventRecorder

	mu      sync.Mutex
	answers map[string]answer
}

// controlPlane knows the version of the control plane; ControlPlane implements it.
type controlPlane interface {
	Version() string
	Upgrades() <-chan event.GenericEvent
}

// NewClasses returns the rules of a cluster.
func NewClasses(c client.Client, cluster api.Cluster, control controlPlane, a account,
	recorder events.EventRecorder) *Classes {
	return &Classes{
		client: c, cluster: cluster, control: control, account: a, events: recorder, answers: map[string]answer{},
	}
}

func (l *Classes) tier() catalog.Tier { return catalog.Tier(l.cluster.Tier) }

// Changes implements Rules: it receives when the control plane gets another version.
func (l *Classes) Changes() <-chan event.GenericEvent { return l.control.Upgrades() }

// Problem implements Rules.
func (l *Classes) Problem(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) string {
	if problem := ClassProblem(class.Spec, l.tier()); problem != "" {
		return problem
	}
	return l.missing(ctx, class.Spec)
}

// Drifted implements Rules: a claim that has drifted once stays drifted.
func (l *Classes) Drifted(nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass) bool {
	group, err := capacity.DecodeGroup(nc.Annotations[nodeclaim.AnnotationGroup])
	return err == nil && (group.DiskEncryption != class.Spec.DiskEncryption ||
		l.tier() == catalog.Enterprise && group.FirewallID != ptr.Deref(class.Spec.FirewallID, 0))
}

// missing names the first object that a class refers to and that Linode does not have; "" if nothing is missing or
// Linode does not answer. In the second case LKE rejects a wrong pool itself.
func (l *Classes) missing(ctx context.Context, spec linodev1alpha1.LinodeNodeClassSpec) string {
	if v := spec.LKEK8sVersion; v != nil && l.tier() == catalog.Enterprise && *v != l.control.Version() {
		if versions, err := l.versions(ctx); err == nil && !slices.Contains(versions, *v) {
			return fmt.Sprintf("spec.lkeK8sVersion: LKE Enterprise has no version %s; it has: %s",
				*v, strings.Join(versions, ", "))
		}
	}
	if id := spec.FirewallID; id != nil && l.tier() == catalog.Enterprise {
		_, err := l.ask(ctx, "firewall "+strconv.Itoa(*id), func(ctx context.Context) ([]string, error) {
			return nil, l.account.Firewall(ctx, *id)
		})
		if api.ClassOf(err) == api.ClassNotFound {
			return fmt.Sprintf("spec.firewallID: the account has no firewall %d; correct the ID or create the firewall",
				*id)
		}
	}
	return ""
}

// writeFirewall sets a condition on a class of the standard tier whose firewall has no effect, and reports it once
// with an event.
func (l *Classes) writeFirewall(class *linodev1alpha1.LinodeNodeClass) {
	conditions, id := class.StatusConditions(), class.Spec.FirewallID
	if id == nil || l.tier() == catalog.Enterprise {
		_ = conditions.Clear(linodev1alpha1.ConditionFirewallWithoutEffect) // an error is only possible for parts of Ready
		return
	}
	text := fmt.Sprintf("the cluster is of the standard tier, where lkeplan creates node pools without a firewall: %d "+
		"has no effect on the nodes; changing or removing spec.firewallID replaces them, so leave it to keep them", *id)
	if conditions.SetTrueWithReason(linodev1alpha1.ConditionFirewallWithoutEffect, "StandardTier", text) {
		l.events.Eventf(class, nil, corev1.EventTypeWarning, linodev1alpha1.ConditionFirewallWithoutEffect, "Validate", "%s",
			text)
	}
}

// ClassProblem says why LKE would refuse pools of a class; "" if it would not.
func ClassProblem(spec linodev1alpha1.LinodeNodeClassSpec, tier catalog.Tier) string {
	if problem := nodeclaim.TagProblem(spec.Tags, GroupTag); problem != "" {
		return problem
	}
	if v := spec.LKEK8sVersion; v != nil {
		if problem := catalog.VersionProblem(*v, tier == catalog.Enterprise); problem != "" {
			return "spec.lkeK8sVersion: " + problem
		}
	}
	return ""
}

// account knows the firewalls and versions that a class may name; api.Client implements it.
type account interface {
	Versions(ctx context.Context, tier catalog.Tier) ([]string, error)
	Firewall(ctx context.Context, id int) error
}

// How long an answer about the account is kept: firewalls and versions change without an event. If something is
// missing, or Linode did not answer, the account is asked again sooner.
const (
	answerFor  = 10 * time.Minute
	missingFor = time.Minute
)

// answer is a kept answer about the account.
type answer struct {
	until    time.Time
	versions []string
	err      error
}

// ask requests something once for many classes and events. If the rate limit is short, it lets other requests go
// first.
func (l *Classes) ask(
	ctx context.Context, what string, ask func(context.Context) ([]string, error),
) (versions []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, known := l.answers[what]; known && time.Now().Before(a.until) {
		return a.versions, a.err
	}
	versions, err = ask(api.LowPriority(ctx))
	counts := answerFor
	if err != nil {
		counts = missingFor
	}
	l.answers[what] = answer{time.Now().Add(counts), versions, err}
	return versions, err
}

// versions returns the versions that LKE offers the account for the tier of the cluster.
func (l *Classes) versions(ctx context.Context) ([]string, error) {
	return l.ask(ctx, "versions", func(ctx context.Context) ([]string, error) {
		return l.account.Versions(ctx, l.tier())
	})
}
