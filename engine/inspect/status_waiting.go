package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/linode/instancetype"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Workload is pods of one owner that are waiting for a node.
type Workload struct {
	Namespace string     `json:"namespace"`
	Owner     string     `json:"owner"` // kind and name
	Pods      int        `json:"pods"`
	Pod       string     `json:"pod"` // one of them
	Since     *time.Time `json:"since,omitempty"`
	Pools     []string   `json:"pools"`   // whose nodes match them
	Reasons   []string   `json:"reasons"` // from the pods down to LKE
}

// waiting are the pods that are waiting for a node, by their owner.
func (w *reader) waiting(ctx context.Context, s Status) []Workload {
	by, order := map[[2]string][]*corev1.Pod{}, [][2]string{}
	for _, pod := range w.Pods {
		if !PodWaits(pod) {
			continue
		}
		key := [2]string{pod.Namespace, OwnerOf(pod)}
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], pod)
	}
	all := []Workload{}
	var refused map[types.UID][]Line
	if len(order) > 0 {
		refused = w.refused(ctx)
	}
	for _, key := range order {
		pods := by[key]
		slices.SortFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
		load := Workload{
			Namespace: key[0], Owner: key[1], Pods: len(pods), Pod: pods[0].Name,
			Since: moment(pods[0].CreationTimestamp.Time), Pools: []string{},
		}
		for _, pool := range w.Snapshot.Pools {
			if _, ok := instancetype.ForPod(pool, pods[0]); ok && classOf(pool) != "" {
				load.Pools = append(load.Pools, pool.Name)
			}
		}
		load.Reasons = w.reasons(pods, load.Pools, s, refused)
		all = append(all, load)
	}
	slices.SortFunc(all, func(a, b Workload) int {
		return strings.Compare(a.Namespace+"/"+a.Owner, b.Namespace+"/"+b.Owner)
	})
	return all
}

// fold merges workloads of one kind in a namespace if there are many, such as 3,000 pods without an owner. How
// many there are, and of which kind, is its Owner.
func fold(loads []Workload) (folded []Workload) {
	kindOf := func(w Workload) [2]string {
		kind, _, _ := strings.Cut(w.Owner, " ")
		return [2]string{w.Namespace, kind}
	}
	count, at := map[[2]string]int{}, map[[2]string]int{}
	for _, w := range loads {
		count[kindOf(w)]++
	}
	for _, w := range loads {
		of := kindOf(w)
		if count[of] <= quiet {
			folded = append(folded, w)
			continue
		}
		i, seen := at[of]
		if !seen {
			at[of] = len(folded)
			_, name, _ := strings.Cut(w.Owner, " ")
			w.Owner = fmt.Sprintf("%d %ss, for example %s", count[of], of[1], name)
			folded = append(folded, w)
			continue
		}
		sum := &folded[i]
		sum.Pods += w.Pods
		if sum.Since == nil || w.Since != nil && w.Since.Before(*sum.Since) {
			sum.Since = w.Since
		}
		sum.Reasons = slices.Concat(sum.Reasons, w.Reasons)
	}
	for i := range folded {
		var reasons lines
		reasons.add(folded[i].Reasons...)
		folded[i].Reasons = reasons.most(5)
	}
	return folded
}

// PodWaits reports whether a pod has no node yet.
func PodWaits(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp.IsZero() &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// OwnerOf names the owner of a pod as people know it: the Deployment of a ReplicaSet.
func OwnerOf(pod *corev1.Pod) string {
	return strings.Replace(simulate.Owner(pod), " "+pod.Namespace+"/", " ", 1)
}

// sentences are the texts of lines.
func sentences(lines []Line) (texts []string) {
	for _, line := range lines {
		texts = append(texts, strings.TrimSuffix(line.String(), "."))
	}
	return texts
}

// mostRefused is for how many pools it is shown why they create no node for a pod.
const mostRefused = 3

// reasons explain why pods of one owner are waiting, from the pods down to LKE. Refused is why pods get no node now.
func (w *reader) reasons(pods []*corev1.Pod, pools []string, s Status, refused map[types.UID][]Line) []string {
	var lines lines
	var coming []*karpv1.NodeClaim
	planned := false // by the scheduler that runs now, which counts pools and limits
	for _, pod := range pods {
		for _, gate := range pod.Spec.SchedulingGates {
			lines.add("the scheduling gate " + gate.Name + " blocks the pod")
		}
		nc, said := w.word(pod, pools)
		if nc != nil && !slices.ContainsFunc(coming, func(c *karpv1.NodeClaim) bool { return c.Name == nc.Name }) {
			coming = append(coming, nc)
		}
		if why := refused[pod.UID]; nc == nil && why != nil {
			said, planned = sentences(why[:min(len(why), mostRefused)]), true
		}
		lines.add(said...)
	}
	lines.add(w.underWay(coming)...)
	for _, p := range s.Pools {
		if slices.Contains(pools, p.Name) {
			s.inTheWay(p, len(coming) > 0, planned, &lines)
		}
	}
	for _, l := range s.Limits {
		for _, r := range l.Says {
			concerns := func(pool string) bool { return len(l.Pools) == 0 || slices.Contains(l.Pools, pool) }
			if r.What == RemarkFull && len(coming) == 0 && !planned && slices.ContainsFunc(pools, concerns) {
				lines.unlessSaid("", r.Text)
			}
		}
	}
	if len(lines) == 0 {
		lines.add(w.silence(pods[0], pools))
	}
	return lines.most(5)
}

// inTheWay adds what blocks a pool from creating nodes, or LKE from creating those that are
// already requested.
func (s Status) inTheWay(p PoolStatus, asked, planned bool, into *lines) {
	for _, r := range p.Says {
		switch {
		case r.What == RemarkStock && !asked:
			into.unlessSaid("pool "+p.Name+": ", r.Text)
			continue
		case planned:
			continue
		}
		switch r.What {
		case RemarkNotReady, RemarkStock, RemarkFull, RemarkClass, RemarkReplicas:
			if !asked && (r.What != RemarkClass || s.Classes == nil) { // its class reports the reason
				into.unlessSaid("pool "+p.Name+": ", r.Text)
			}
		}
	}
	for _, c := range s.Classes {
		for _, r := range c.Says {
			if !planned && c.Name == p.Class && r.What != RemarkVersion {
				into.unlessSaid("LinodeNodeClass "+c.Name+": ", r.Text)
			}
		}
	}
}

// silence is what to report about a pod without any explanation.
func (w *reader) silence(pod *corev1.Pod, pools []string) string {
	switch age, waiting := w.Now.Sub(pod.CreationTimestamp.Time), len(keep(w.Pods, PodWaits)); {
	case waiting > mostPlaced:
		return fmt.Sprintf("only some pods are checked, because %d pods are waiting: lkeplan why pod NAME checks one pod", waiting)
	case len(w.Snapshot.Pools) == 0:
		return "there is no pool"
	case len(pools) == 0:
		return "no pool has the labels and taints that the pod needs"
	case len(w.Unlisted) > 0:
		return "the reason is unknown: not all kinds can be listed"
	case age < time.Minute:
		return "the pod is new, and has no events yet"
	}
	return "the reason is unknown: no event and no pool reports it; run lkeplan doctor to check that the controller runs"
}

// word is the last event about a pod: the NodeClaim that it will get, or why there is
// none.
func (w *reader) word(pod *corev1.Pod, pools []string) (nc *karpv1.NodeClaim, said []string) {
	var others []string
	for _, e := range w.events.About(cluster.SubjectOf("Pod", pod)) {
		switch {
		case w.Now.Sub(w.events.LastSeen(e)) > lately:
		case e.Reason == "Nominated":
			if nc := w.nominated(e.Message); nc != nil && len(said) == 0 {
				return nc, nil
			}
		case e.Type != corev1.EventTypeWarning, e.Reason == linode.ReasonStock, e.Reason == linode.ReasonSilence:
			// its pools and classes report that
		case e.Reason == "CapacityLimitReached", e.Reason == "NodePoolNotReady", e.Reason == linode.ReasonFull:
			return nil, []string{fmt.Sprintf("%s ago: %s", w.ageOf(e), messageOf(w.events, e))}
		case e.Reason == "FailedScheduling" && strings.HasPrefix(e.Message, failed):
			if len(said) == 0 {
				said = karpenterSaid(e.Message, w.ageOf(e), pools)
			}
		case len(others) == 0:
			others = []string{fmt.Sprintf("kube-scheduler, %s ago: %s", w.ageOf(e), e.Message)}
		}
	}
	if len(said) == 0 && len(w.Snapshot.Pools) == 0 {
		return nil, others
	}
	return nil, said
}

// failed is the start of Karpenter's message about a pod that no pool creates a node for (karpenter
// v1.14.1, PodFailedToScheduleEvent).
const failed = "Failed to schedule pod, "

// karpenterSaid is Karpenter's message without its own words: the reasons of all
// pools, each once, and of pools that do not match the pod only if there is no other.
func karpenterSaid(message, age string, pools []string) []string {
	var near, far lines
	for part := range strings.SplitSeq(strings.TrimPrefix(message, failed), "; ") {
		part, _, _ = strings.Cut(part, ", requirements=")
		part = fmt.Sprintf("Karpenter, %s ago: %s", age, strings.TrimSuffix(part, "."))
		_, of, named := strings.Cut(part, "(NodePool=")
		if strings.Contains(part, "incompatible requirements") || strings.Contains(part, "did not tolerate taint") ||
			named && !slices.Contains(pools, strings.TrimSuffix(of, ")")) {
			far.add(part)
			continue
		}
		near.add(part)
	}
	if len(near) > 0 {
		return near.most(3)
	}
	return far.most(3)
}

// nominated is the NodeClaim that a pod will get according to an event; nil if it was deleted, or
// is a node already.
func (w *reader) nominated(message string) *karpv1.NodeClaim {
	_, rest, found := strings.Cut(message, "nodeclaim/")
	if !found {
		return nil
	}
	name, _, _ := strings.Cut(rest, ",")
	name = strings.TrimSpace(name)
	if nc := named(w.Claims, name); nc != nil && nc.DeletionTimestamp.IsZero() {
		return nc
	}
	return nil
}

// underWay reports on the nodes that pods will get, and what LKE reports about them.
func (w *reader) underWay(coming []*karpv1.NodeClaim) []string {
	if len(coming) == 0 {
		return nil
	}
	slices.SortFunc(coming, func(a, b *karpv1.NodeClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	first := coming[0]
	how := "its machine is requested"
	switch {
	case first.Status.NodeName != "":
		how = "its node has joined"
	case !waitsForMachine(first):
		how = "its machine is starting"
	}
	claim := "NodeClaim " + first.Name
	if plan := nodeclaim.PlanOf(first); plan != "" {
		claim += " (" + plan + ")"
	}
	age := Age(w.Now.Sub(first.CreationTimestamp.Time))
	text := fmt.Sprintf("%s was created for the pod %s ago; %s", claim, age, how)
	if len(coming) > 1 {
		text = fmt.Sprintf("%d NodeClaims were created for the pods; the oldest is %s, created %s ago; %s", len(coming), claim, age, how)
	}
	lines := lines{text}
	for _, nc := range coming {
		if e := w.warning(nc); e != nil {
			lines.add(fmt.Sprintf("%s ago: %s", w.ageOf(e), messageOf(w.events, e)))
		}
	}
	return lines
}

// ageOf is how long ago an event was last seen.
func (w *reader) ageOf(e *corev1.Event) string { return w.age(w.events.LastSeen(e)) }

// lines are sentences, each once.
type lines []string

func (l *lines) add(texts ...string) {
	for _, text := range texts {
		if !slices.Contains(*l, text) {
			*l = append(*l, text)
		}
	}
}

// unlessSaid adds a sentence about something, unless a line has it already.
func (l *lines) unlessSaid(about, text string) {
	if !slices.ContainsFunc(*l, func(line string) bool {
		return strings.Contains(line, text) || strings.HasPrefix(text, line)
	}) {
		l.add(about + text)
	}
}

// most are the first lines, and the number of the others.
func (l lines) most(n int) []string {
	if len(l) <= n {
		return l
	}
	return append(slices.Clone(l[:n-1]), fmt.Sprintf("and %d more reasons", len(l)-n+1))
}
