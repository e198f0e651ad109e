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

// Classes are the Rules of classes whose nodes LKE makes.
type Classes struct {
	client  client.Client
	cluster api.Cluster
	control controlPlane
	account account // asked once every few minutes
	events  events.EventRecorder

	mu      sync.Mutex
	answers map[string]answer
}

// controlPlane knows the version of the control plane; ControlPlane is one.
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

// Changes implements Rules: the control plane has got another version.
func (l *Classes) Changes() <-chan event.GenericEvent { return l.control.Upgrades() }

// Problem implements Rules.
func (l *Classes) Problem(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) string {
	if problem := ClassProblem(class.Spec, l.tier()); problem != "" {
		return problem
	}
	return l.missing(ctx, class.Spec)
}

// Drifted implements Rules: what drifted before stays so.
func (l *Classes) Drifted(nc *karpv1.NodeClaim, class *linodev1alpha1.LinodeNodeClass) bool {
	group, err := capacity.DecodeGroup(nc.Annotations[nodeclaim.AnnotationGroup])
	return err == nil && (group.DiskEncryption != class.Spec.DiskEncryption ||
		l.tier() == catalog.Enterprise && group.FirewallID != ptr.Deref(class.Spec.FirewallID, 0))
}

// missing says what a class names that Linode does not have; "" if nothing is
// missing or Linode does not answer: LKE refuses the pool itself where it is wrong.
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

// writeFirewall says of a class of the standard tier that its firewall has no effect. An event reports that once.
func (l *Classes) writeFirewall(class *linodev1alpha1.LinodeNodeClass) {
	conditions, id := class.StatusConditions(), class.Spec.FirewallID
	if id == nil || l.tier() == catalog.Enterprise {
		_ = conditions.Clear(linodev1alpha1.ConditionFirewallWithoutEffect) // it fails for parts of Ready only
		return
	}
	text := fmt.Sprintf("the cluster is of the standard tier, where lkeplan creates node pools without a firewall: %d "+
		"has no effect on the nodes; changing or removing spec.firewallID replaces them, so leave it to keep them", *id)
	if conditions.SetTrueWithReason(linodev1alpha1.ConditionFirewallWithoutEffect, "StandardTier", text) {
		l.events.Eventf(class, nil, corev1.EventTypeWarning, linodev1alpha1.ConditionFirewallWithoutEffect, "Validate", "%s",
			text)
	}
}

// ClassProblem says why LKE would refuse pools of a class; "" where it would not.
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

// account knows the firewalls and versions that a class may name; api.Client is
// one.
type account interface {
	Versions(ctx context.Context, tier catalog.Tier) ([]string, error)
	Firewall(ctx context.Context, id int) error
}

// How long an answer about the account counts: both come and go without an event. That
// something is missing, or was not answered, is asked again sooner.
const (
	answerFor  = 10 * time.Minute
	missingFor = time.Minute
)

// answer is an answer about the account.
type answer struct {
	until    time.Time
	versions []string
	err      error
}

// ask asks the account once for many classes and events. It leaves the rate limit to others where that is short.
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

// versions are those that LKE offers the account in the tier of the cluster.
func (l *Classes) versions(ctx context.Context) ([]string, error) {
	return l.ask(ctx, "versions", func(ctx context.Context) ([]string, error) {
		return l.account.Versions(ctx, l.tier())
	})
}
