// Package status says what is happening in a cluster: how the nodes of each pool do and
// what holds them, what is left of limits, what each NodePlan waits for, and why pods
// wait for a node.
//
// It is pure: lists, prices and a time go in, a value and text come out. It asks no
// cluster, and the controller may be down.
package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/lkeplan/lkeplan/engine/top"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Lists are what was read of a cluster. Nothing of it is changed.
type Lists struct {
	Nodes   []*corev1.Node
	Pods    []*corev1.Pod
	Claims  []*karpv1.NodeClaim
	Pools   []*karpv1.NodePool
	Classes []*linodev1alpha1.LinodeNodeClass
	Limits  []*lkeplanv1alpha1.CapacityLimit
	Plans   []*lkeplanv1alpha1.NodePlan
	Budgets []*policyv1.PodDisruptionBudget
	Events  []*corev1.Event // at least warnings, and which node a pod is to have
	Daemons []*appsv1.DaemonSet
	Volumes Volumes
	Notes   []string // what could not be read, each a sentence

	// Unlisted are the kinds, in the plural, that could not be listed: from there being none
	// of them here, nothing follows.
	Unlisted []string
}

// Volumes are what tells where the volumes of pods can be used.
type Volumes struct {
	Claims  []*corev1.PersistentVolumeClaim
	All     []*corev1.PersistentVolume
	Classes []*storagev1.StorageClass
}

// ListsOf sorts objects by their kinds; those of others are left out.
func ListsOf(objects []client.Object, notes []string) Lists {
	l := Lists{Notes: notes}
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *corev1.Node:
			l.Nodes = append(l.Nodes, obj)
		case *corev1.Pod:
			l.Pods = append(l.Pods, obj)
		case *karpv1.NodeClaim:
			l.Claims = append(l.Claims, obj)
		case *karpv1.NodePool:
			l.Pools = append(l.Pools, obj)
		case *linodev1alpha1.LinodeNodeClass:
			l.Classes = append(l.Classes, obj)
		case *lkeplanv1alpha1.CapacityLimit:
			l.Limits = append(l.Limits, obj)
		case *lkeplanv1alpha1.NodePlan:
			l.Plans = append(l.Plans, obj)
		case *policyv1.PodDisruptionBudget:
			l.Budgets = append(l.Budgets, obj)
		case *appsv1.DaemonSet:
			l.Daemons = append(l.Daemons, obj)
		case *corev1.Event:
			l.Events = append(l.Events, obj)
		case *corev1.PersistentVolumeClaim:
			l.Volumes.Claims = append(l.Volumes.Claims, obj)
		case *corev1.PersistentVolume:
			l.Volumes.All = append(l.Volumes.All, obj)
		case *storagev1.StorageClass:
			l.Volumes.Classes = append(l.Volumes.Classes, obj)
		}
	}
	return l
}

// Given is what is known besides the lists.
type Given struct {
	Place   string // where the cluster is, for people
	Catalog *catalog.Catalog
	Now     time.Time
	Pool    string // the only one to tell of; "" for all
	Region  string // of the cluster; "" for what its nodes tell
}

// Status is what is happening. What is not known, as its kind cannot be listed, is nil.
type Status struct {
	Place     string         `json:"cluster"`
	Nodes     *int           `json:"nodes"`              // machines, those included that are still to come
	Coming    *int           `json:"coming"`             // of these
	Cost      *catalog.Price `json:"cost"`               // without the unpriced
	Unpriced  int            `json:"unpriced,omitempty"` // nodes whose price is not known
	Pools     []Pool         `json:"pools"`
	Classes   []Class        `json:"node_classes"` // that something is to be said of
	Limits    []Limit        `json:"capacity_limits"`
	Waiting   []Workload     `json:"pods_waiting"`
	NodePlans []NodePlan     `json:"nodeplans"`
	Notes     []string       `json:"notes"`      // what could not be read, or worked out
	NotListed []string       `json:"not_listed"` // kinds that could not be listed: what is of them is not known
	now       time.Time
}

// Remark is something that somebody may want to know.
type Remark struct {
	What  What       `json:"what"`
	Text  string     `json:"text"`
	Since *time.Time `json:"since,omitempty"`
}

// What is a class of remarks.
type What string

// What there is to tell.
const (
	NotReady  What = "not-ready" // nothing is made with it
	BadClass  What = "class"     // nothing is made with it, for its LinodeNodeClass is not ready
	Linode    What = "linode"    // the Linode API does not answer, or refuses the token
	Stock     What = "stock"     // Linode has no machines of a plan type
	Full      What = "limit"     // a limit has no room
	Refused   What = "refused"   // no machine is made
	Rolling   What = "rolling"   // nodes are to be replaced, or have not joined
	Loop      What = "loop"      // nodes were replaced again and again, and are kept now
	Held      What = "held"      // something keeps nodes from being replaced
	Condemned What = "condemned" // the pool gives up its nodes
	Drift     What = "drift"     // others have set a field that lkeplan does not set
	Version   What = "version"   // of Kubernetes: nodes and control plane differ
	Unknown   What = "unknown"   // what it follows from cannot be listed
)

// Of says what is happening in a cluster.
func Of(l Lists, g Given) (Status, error) {
	l = l.Sorted()
	s := Status{
		Place: g.Place, Notes: append([]string{}, l.Notes...), NotListed: append([]string{}, l.Unlisted...), now: g.Now,
	}
	screen := top.Of(top.Cluster{Nodes: l.Nodes, Claims: l.Claims, Pools: l.Pools}, g.Catalog.Price)
	if l.Unread(kindNodes, kindClaims) == "" {
		coming := int(screen.Total.Coming.N)
		s.Nodes, s.Coming, s.Cost = &screen.Total.Count, &coming, &screen.Total.Cost
		s.Unpriced = screen.Total.Unpriced
	}
	w := &world{Lists: l, Given: g, byUID: l.eventsByObject()}
	w.types = sync.OnceValue(func() []*cloudprovider.InstanceType {
		region, tier := l.Region()
		return instancetype.New(g.Catalog, cmp.Or(g.Region, region), tier).List()
	})
	rolls, err := w.rolls()
	if err != nil {
		return s, err
	}
	s.Pools = w.pools(screen, rolls)
	s.Classes = listed(l, kindClasses, func() []Class { return w.classes(rolls) })
	s.Limits = listed(l, kindLimits, w.limits)
	s.NodePlans = listed(l, kindPlans, w.nodePlans)
	s.Waiting = listed(l, kindPods, func() []Workload { return w.waiting(s) })
	s.Notes = append(s.Notes, w.doubts()...)
	if g.Pool != "" {
		return s.only(g.Pool)
	}
	return s, nil
}

// world is what is looked at.
type world struct {
	Lists
	Given
	byUID map[string][]*corev1.Event           // the last ones first
	types func() []*cloudprovider.InstanceType // of the cluster's region
}

// Region is that of the cluster, and its tier, as nodes and classes tell: only Enterprise
// has versions like v1.33.4+lke2, and classes of instance mode say so. A class can name a version
// that the cluster does not have: one class with a version of the standard tier decides. It is ""
// where nothing tells.
func (l Lists) Region() (region string, tier catalog.Tier) {
	for _, n := range l.Nodes {
		region = cmp.Or(region, n.Labels[corev1.LabelTopologyRegion])
	}
	for _, nc := range l.Claims {
		region = cmp.Or(region, nc.Labels[corev1.LabelTopologyRegion])
	}
	for _, class := range l.Classes {
		region = cmp.Or(region, class.Annotations[linodev1alpha1.AnnotationRegion])
	}
	tier, gpus := catalog.Standard, false
	for _, class := range l.Classes {
		switch version := class.Status.KubernetesVersion; {
		case class.Annotations[linodev1alpha1.AnnotationMode] == linodev1alpha1.ModeInstance:
			return region, catalog.Instances
		case version == "":
		case !strings.Contains(version, "+lke"):
			return region, catalog.Standard
		default:
			tier = catalog.Enterprise
		}
		gpus = gpus || class.Annotations[schemas.AnnotationGPUPlans] == "true"
	}
	return region, tier.WithGPUs(gpus)
}

// only is the part of a status that is about one pool.
func (s Status) only(pool string) (Status, error) {
	var names []string
	for _, p := range s.Pools {
		names = append(names, p.Name)
	}
	at := slices.Index(names, pool)
	if at < 0 {
		return s, fmt.Errorf("there is no pool %s; there are: %s", pool, strings.Join(names, ", "))
	}
	p := s.Pools[at]
	s.Pools, s.Nodes, s.Coming, s.Cost, s.Unpriced = []Pool{p}, p.Nodes, p.coming, p.Cost, p.Unpriced
	s.Classes = keep(s.Classes, func(c Class) bool { return c.Name == p.Class })
	s.Limits = keep(s.Limits, func(l Limit) bool { return len(l.Pools) == 0 || slices.Contains(l.Pools, pool) })
	s.Waiting = keep(s.Waiting, func(w Workload) bool { return slices.Contains(w.Pools, pool) })
	s.NodePlans = keep(s.NodePlans, func(n NodePlan) bool { return slices.Contains(n.pools, pool) })
	return s, nil
}

// Sorted are the lists in the order of names: the same cluster gives the same text.
func (l Lists) Sorted() Lists {
	l.Nodes, l.Pods, l.Claims, l.Pools = byName(l.Nodes), byName(l.Pods), byName(l.Claims), byName(l.Pools)
	l.Classes, l.Limits, l.Plans = byName(l.Classes), byName(l.Limits), byName(l.Plans)
	l.Budgets, l.Events, l.Daemons = byName(l.Budgets), byName(l.Events), byName(l.Daemons)
	return l
}

func byName[T metav1.Object](list []T) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}

// keep are some of those that there are; nil where these are not known.
func keep[T any](all []T, some func(T) bool) []T {
	if all == nil {
		return nil
	}
	kept := []T{}
	for _, one := range all {
		if some(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// eventsByObject are the events by the UID of what they are about, the last ones first.
func (l Lists) eventsByObject() map[string][]*corev1.Event {
	by := map[string][]*corev1.Event{}
	for _, e := range l.Events {
		uid := string(e.InvolvedObject.UID)
		by[uid] = append(by[uid], e)
	}
	for _, events := range by {
		slices.SortStableFunc(events, func(a, b *corev1.Event) int { return kube.LastSeen(b).Compare(kube.LastSeen(a)) })
	}
	return by
}
