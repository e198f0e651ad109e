package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// Question is the object to explain.
type Question struct {
	Kind      string // one of QuestionKinds
	Namespace string // of a pod
	Name      string
}

// QuestionKinds returns the kinds that can be explained.
func QuestionKinds() []string { return []string{"pod", "node", "pool"} }

// Answer explains an object.
type Answer struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Summary   string    `json:"summary"`
	Sections  []Section `json:"sections"`
	Notes     []string  `json:"notes"` // what could not be read
}

// Section answers one question.
type Section struct {
	About About  `json:"about"`
	Lines []Line `json:"lines"`
}

// About is the question that a section answers.
type About string

// The questions.
const (
	AboutPlacing  About = "placing"  // where a pod would go now
	AboutWaits    About = "waits"    // what a pod is waiting for
	AboutPlan     About = "plan"     // why a node has its plan type
	AboutStays    About = "stays"    // why a node is not consolidated
	AboutReplaced About = "replaced" // why a node will be replaced
	AboutDelays   About = "delays"   // what delays the removal of a node that is removed or replaced
	AboutRemoved  About = "removed"  // why a node is being removed
	AboutMachine  About = "machine"  // why the machine of a deleted NodeClaim still exists
	AboutState    About = "state"    // the state of a pool
	AboutPlans    About = "plans"    // the plan types that a pool can create
	AboutSaid     About = "said"     // the last events
)

// title returns the heading of a section of lkeplan why about an object of a kind.
func (a About) title(kind string) string {
	switch {
	case a == AboutWaits && kind == "pool":
		return "Pods waiting for this pool"
	case a == AboutStays && kind == "pool":
		return "Why its nodes stay"
	}
	return map[About]string{
		AboutPlacing: "What Karpenter would do now", AboutWaits: "Why it is waiting", AboutPlan: "Why this plan type",
		AboutStays: "Why it stays", AboutReplaced: "Why it will be replaced", AboutDelays: "What delays its removal",
		AboutRemoved: "Why it is being removed", AboutMachine: "Why its machine still exists",
		AboutState: "State", AboutPlans: "Plan types that it can create",
		AboutSaid: "Last events",
	}[a]
}

// Line is one sentence, with the pools that it is about, if any.
type Line struct {
	Pools []string `json:"pools,omitempty"`
	Text  string   `json:"text"`

	quoted bool // it is quoted from an object of the cluster
}

// needed are the kinds that answers need, in addition to those without which nothing is read. Events are not
// needed: without them, an answer is only shorter.
var needed = []string{cluster.KindDaemonSets, cluster.KindLimits, cluster.KindBudgets, cluster.KindVolumeClaims, cluster.KindVolumes,
	cluster.KindStorageClasses}

// Ask answers a question about a cluster.
func Ask(ctx context.Context, l cluster.Snapshot, g Given, q Question) (Answer, error) {
	g.Pool = ""
	w := newReader(l.Sorted(), g)
	if unread := w.Unread(needed...); unread != "" {
		return Answer{}, fmt.Errorf("%s %s cannot be explained: %s; the user needs permission to list them", q.Kind, q.Name, unread)
	}
	var err error
	if w.Status, err = w.status(); err != nil {
		return Answer{}, err
	}
	a := Answer{Kind: q.Kind, Name: q.Name, Sections: []Section{}, Notes: append([]string{}, l.Notes...)}
	switch q.Kind {
	case "pod":
		a.Namespace = q.Namespace
		return a, w.pod(ctx, &a)
	case "node":
		return a, w.node(ctx, &a)
	}
	return a, w.pool(&a)
}

// reader makes a Status and Answers of a snapshot, whose lists are sorted.
type reader struct {
	cluster.Snapshot
	Given
	Status  Status // of the whole cluster; only Ask sets it
	rolls   rolls  // set by findOutdated
	region  string
	tier    catalog.Tier
	types   func() *instancetype.Set // the plan types as the controller offers them now
	volumes *simulate.VolumeIndex
	events  cluster.Events
}

func newReader(l cluster.Snapshot, g Given) *reader {
	w := &reader{Snapshot: l, Given: g, events: l.EventsAt(g.Now)}
	w.volumes = simulate.NewVolumeIndex(l.Volumes.Claims, l.Volumes.All, l.Volumes.Classes)
	w.region, w.tier = l.Region()
	w.region = cmp.Or(g.Region, w.region)
	w.types = sync.OnceValue(func() *instancetype.Set { return instancetype.New(w.Catalog, w.region, w.tier) })
	return w
}

// live returns the cluster as it is, without one claim and its node if without is not nil. Then the
// pods of that node are waiting, and no others. Pods that Karpenter does not plan for because of their
// volumes are left out.
func (w *reader) live(ctx context.Context, without *karpv1.NodeClaim) simulate.Live {
	in := simulate.Live{Snapshot: w.Snapshot, Region: w.region, Tier: w.tier, Catalog: w.Catalog, Attached: w.attached(ctx)}
	in.Pods = nil
	if without == nil {
		for _, pod := range w.Pods {
			if pod.Spec.NodeName == "" {
				asks := w.storageOf(ctx, pod)
				if asks.unready != "" {
					continue
				}
				pod = asks.places.Bind(pod)
			}
			in.Pods = append(in.Pods, pod)
		}
		return in
	}
	in.Claims = slices.DeleteFunc(slices.Clone(in.Claims), func(nc *karpv1.NodeClaim) bool { return nc == without })
	in.Nodes = slices.DeleteFunc(slices.Clone(in.Nodes), func(n *corev1.Node) bool {
		return n.Name == without.Status.NodeName
	})
	for _, pod := range w.Pods {
		switch pod.Spec.NodeName {
		case "": // it would share the nodes
			continue
		case without.Status.NodeName:
			pod = w.storageOf(ctx, pod).places.Bind(pod).DeepCopy()
			pod.Spec.NodeName = ""
		}
		in.Pods = append(in.Pods, pod)
	}
	return in
}

func (a *Answer) add(about About, lines ...Line) {
	if len(lines) > 0 {
		a.Sections = append(a.Sections, Section{about, lines})
	}
}

func plainLines(texts ...string) (lines []Line) {
	for _, text := range texts {
		lines = append(lines, Line{Text: text})
	}
	return lines
}

// absent returns the error for a name that no object has, with the last event about a removed one.
func (w *reader) absent(kind, namespace, name string, names []string) error {
	text := fmt.Sprintf("there is no %s %s", map[string]string{"Pod": "pod", "Node": "node", "NodePool": "pool"}[kind], name)
	events := w.events.About(cluster.Subject{Kind: kind, Namespace: namespace, Name: name})
	if kind == "Node" {
		events = append(events, w.events.About(cluster.Subject{Kind: "NodeClaim", Name: name})...)
	}
	moved := ""
	if kind == "Node" {
		moved = w.movedBy(name)
	}
	switch unread := w.Unread(cluster.KindEvents); {
	case moved != "":
		text += " any more: " + moved
	case unread != "":
		text += " now; whether it was removed is unknown: " + unread
	case kind == "Node" && len(events) == 0:
		text += ", and no event is left that tells whether and why it was removed"
	}
	slices.SortStableFunc(events, func(a, b *corev1.Event) int { return falseFirst(a.Reason == "Finalized", b.Reason == "Finalized") })
	for _, e := range events {
		if explainsRemoval(e.Reason) {
			if moved == "" {
				text += " any more"
			}
			return fmt.Errorf("%s; the last event about it, at %s, is %s: %q", text,
				w.events.LastSeen(e).UTC().Format("2006-01-02 15:04:05 UTC"), e.Reason, diag.Shorten(e.Message, mostSaid))
		}
	}
	if guess := eval.DidYouMean(name, names); guess != "" && moved == "" {
		text += "." + guess
	}
	return errors.New(text)
}

// explainsRemoval reports whether events with a reason explain why something was removed.
func explainsRemoval(reason string) bool {
	return slices.Contains([]string{"MachineCannotJoin", "MachineNotJoined", "DisruptionTerminating", "MachineLost", "InsufficientCapacity", "PlanReplaced",
		"Finalized", "Expired", "FailedDraining"}, reason)
}

const mostSaid = 400

// lastEvents returns the last events of objects: the last for each reason, and first why a machine does not join.
func (w *reader) lastEvents(of ...cluster.Subject) (lines []Line) {
	events := w.events.About(of...)
	slices.SortStableFunc(events, func(a, b *corev1.Event) int { return falseFirst(!saysWhyUnjoined(a), !saysWhyUnjoined(b)) })
	seen := map[string]bool{}
	for _, e := range events {
		if seen[e.Reason] || len(lines) == 5 {
			continue
		}
		seen[e.Reason] = true
		most := mostSaid
		if saysWhyUnjoined(e) {
			most = len(e.Message) // which the API server bounds
		}
		lines = append(lines, Line{Text: fmt.Sprintf("%s ago, %s: %s", w.ageOf(e), e.Reason,
			diag.Shorten(messageOf(w.events, e), most))})
	}
	return lines
}

// addSaid adds the last events of objects.
func (w *reader) addSaid(a *Answer, of ...cluster.Subject) {
	a.add(AboutSaid, w.lastEvents(of...)...)
}

// Text writes an answer for people, in lines of a width.
func (a Answer) Text(width int) string {
	p := diag.Page{Width: max(width, 40)}
	p.Paragraph(0, "%s", a.Summary)
	for _, s := range a.Sections {
		p.Break()
		p.Line(0, "%s:", s.About.title(a.Kind))
		for _, line := range s.Lines {
			if line.quoted {
				p.Words(2, line.String())
				continue
			}
			p.Paragraph(2, "%s", line)
		}
	}
	if len(a.Notes) > 0 {
		p.Break()
	}
	for _, note := range a.Notes {
		p.Paragraph(0, "%s", note)
	}
	return p.String()
}

const mostNamed = 4

// String returns the line with its pools.
func (l Line) String() string {
	switch n := len(l.Pools); {
	case n == 0:
		return l.Text
	case n == 1:
		return "pool " + l.Pools[0] + ": " + l.Text
	case n <= mostNamed:
		return "pools " + strings.Join(l.Pools, ", ") + ": " + l.Text
	}
	return fmt.Sprintf("pools %s and %d others: %s", strings.Join(l.Pools[:mostNamed-1], ", "), len(l.Pools)-mostNamed+1,
		l.Text)
}

// mergeLines merges lines with the same text, those of few pools first.
func mergeLines(lines []Line) (merged []Line) {
	for _, line := range lines {
		i := slices.IndexFunc(merged, func(m Line) bool { return m.Text == line.Text })
		if i < 0 {
			merged = append(merged, line)
			continue
		}
		merged[i].Pools = append(slices.Clone(merged[i].Pools), line.Pools...)
	}
	return merged
}

// ageOf returns how long ago an event was last seen.
func (w *reader) ageOf(e *corev1.Event) string { return w.age(w.events.LastSeen(e)) }

func (w *reader) age(since time.Time) string { return text.Age(w.Now.Sub(since)) }

// asks has the requirements of a pod's volumes for its node.
type asks struct {
	places  simulate.VolumePlaces
	unready string // why Karpenter does not plan for the pod; "" if it does
}

// storageOf returns what the volumes of a pod require, as Karpenter reads them.
func (w *reader) storageOf(ctx context.Context, pod *corev1.Pod) asks {
	if !simulate.ClaimsVolumes(pod) {
		return asks{}
	}
	wait, err := w.volumes.Ready(ctx, pod)
	switch {
	case wait != nil && wait.Why == simulate.ClaimUnbound:
		return asks{unready: fmt.Sprintf("%s: %v", wait, err)}
	case wait != nil && wait.Why == simulate.VolumeBroken:
		return asks{unready: fmt.Sprintf("of its volumes: %v", err)}
	case wait != nil:
		return asks{unready: wait.String()}
	}
	places, err := w.volumes.Places(ctx, pod)
	if err != nil {
		return asks{unready: fmt.Sprintf("of its volumes: %v", err)}
	}
	return asks{places: places}
}

// attached returns the volumes of Linode that nodes attach for pods.
func (w *reader) attached(ctx context.Context) map[types.UID][]string {
	names := map[types.UID][]string{}
	for _, pod := range w.Pods {
		if simulate.ClaimsVolumes(pod) {
			names[pod.UID] = w.volumes.Attached(ctx, pod)
		}
	}
	return names
}
