// Package maintenance prepares nodes for work on their hosts, which Linode announces hours or days before. The
// commands status and why show the work, and if the class of a node sets replaceBeforeMaintenance, the node is
// replaced before the work starts, within the budgets of its NodePool. Decide is the pure decision; Controller
// carries it out.
//
// Karpenter replaces a node if its claim drifts. The decision is stored on the NodeClaim, so that a restart does
// not lose it, and Provider.IsDrifted reads it. The package sends nothing to Linode.
package maintenance

import (
	"encoding/json"
	"slices"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// Window is the maintenance of one machine.
type Window struct {
	Start     time.Time `json:"start,omitzero"` // zero: unknown
	Type      string    `json:"type"`           // as Linode names it, such as power_off_on
	Emergency bool      `json:"emergency,omitempty"`
	Started   bool      `json:"started,omitempty"` // Linode says that it has started
}

// String returns the maintenance for people: "type power_off_on, starts at 2026-11-28T03:00:00Z (emergency)";
// "started at" if it has started.
func (w Window) String() string {
	text, at := "starts at ", "an unknown time"
	if w.Started {
		text = "started at "
	}
	if !w.Start.IsZero() {
		at = w.Start.UTC().Format(time.RFC3339)
	}
	text += at
	if w.Type != "" {
		text = "type " + w.Type + ", " + text
	}
	if w.Emergency {
		text += " (emergency)"
	}
	return text
}

// How long before and after the start that Linode names a maintenance explains the state of a machine. Linode may start
// a little earlier, its clock may differ, and a large disk takes hours to migrate.
//
// Unverified: how long Linode's maintenance lasts.
const (
	early = 10 * time.Minute
	Lasts = 4 * time.Hour
)

// Explains reports whether the maintenance explains that the machine is off, and that its Node is not ready: from
// shortly before its start, or once Linode says that it has started, until Until.
func (w *Window) Explains(now time.Time) bool {
	return w != nil && now.Before(w.Until()) && (w.Started || !now.Before(w.Start.Add(-early)))
}

// Until is until when the maintenance explains that the machine is off. It is in the past if the start is unknown:
// such a maintenance could explain it forever.
func (w *Window) Until() time.Time { return w.Start.Add(Lasts) }

// over reports whether the start has passed for longer than a maintenance lasts.
func (w *Window) over(now time.Time) bool { return !w.Start.IsZero() && !now.Before(w.Until()) }

// Compare is negative if w starts before o. An unknown start comes last.
func (w Window) Compare(o Window) int {
	if w.Start.IsZero() != o.Start.IsZero() {
		return -w.Start.Compare(o.Start)
	}
	return w.Start.Compare(o.Start)
}

// Windows returns the announced maintenance by the id of the Linode: of several, the earliest that is not over.
// Linode may keep listing one that is: nothing else would end its replacements.
func Windows(announced []api.Maintenance, now time.Time) map[int]Window {
	windows := map[int]Window{}
	for _, m := range announced {
		w := Window{Start: m.Start, Type: typeText(m.Type), Emergency: m.Emergency, Started: m.Started()}
		if w.over(now) {
			continue
		}
		if before, ok := windows[m.Linode]; !ok || w.Compare(before) < 0 {
			windows[m.Linode] = w
		}
	}
	return windows
}

// typeText returns a type as it is written in annotations: one word of Linode's, or else quoted.
func typeText(kind string) string {
	const most = 60
	if quoted := nodeclaim.Quoted(kind, most); quoted != `"`+kind+`"` {
		return quoted
	}
	return kind
}

// Decision is the desired state of one claim.
type Decision struct {
	Claim   *karpv1.NodeClaim
	Window  *Window // nil if its machine has no maintenance
	Due     bool    // the node must be replaced for Window, and gets no new pods
	Replace bool    // the claim drifts now: all due claims with an earlier Window have drifted
}

// Decide decides for all claims. Lead returns how long before its maintenance a claim's node is to be replaced; 0 if
// its class does not ask for it. Drifted reports whether Karpenter replaces a claim already, or it is being deleted.
//
// Claims with the same start drift together, and those with a later start after them, because Karpenter replaces
// nodes in the order in which they drifted. A maintenance whose start Linode does not name replaces no node: it may
// be far away, and all nodes could be replaced at once.
func Decide(now time.Time, claims []*karpv1.NodeClaim, windows map[int]Window,
	lead func(*karpv1.NodeClaim) time.Duration, drifted func(*karpv1.NodeClaim) bool) []Decision {
	var decisions, due []Decision
	for _, nc := range claims {
		w, ok := windows[nodeclaim.InstanceOf(nc.Status.ProviderID)]
		switch before := lead(nc); {
		case !ok:
			decisions = append(decisions, Decision{Claim: nc})
		case before > 0 && !w.Start.IsZero() && !now.Before(w.Start.Add(-before)):
			due = append(due, Decision{Claim: nc, Window: &w, Due: true})
		default:
			decisions = append(decisions, Decision{Claim: nc, Window: &w})
		}
	}
	slices.SortStableFunc(due, func(a, b Decision) int { return a.Window.Compare(*b.Window) })
	for i := range due {
		earlier := slices.IndexFunc(due, func(d Decision) bool { return d.Window.Compare(*due[i].Window) >= 0 })
		due[i].Replace = !slices.ContainsFunc(due[:earlier], func(d Decision) bool { return !drifted(d.Claim) })
	}
	return append(due, decisions...)
}

// Annotation has the Window of a NodeClaim's machine, as JSON. AnnotationReplace is "true" while the node is to be
// replaced before that.
const (
	Annotation        = "lkeplan.dev/maintenance"
	AnnotationReplace = "lkeplan.dev/replace-before-maintenance"
)

// annotations returns the annotations of the claim for a decision; "" means to remove one.
func (d Decision) annotations() map[string]string {
	wanted := map[string]string{Annotation: "", AnnotationReplace: ""}
	if d.Window != nil {
		text, _ := json.Marshal(d.Window) // it has only text, a time and a bool
		wanted[Annotation] = string(text)
	}
	if d.Replace {
		wanted[AnnotationReplace] = "true"
	}
	return wanted
}

// Of returns the maintenance in a NodeClaim's annotation; nil if there is none.
func Of(nc *karpv1.NodeClaim) *Window {
	var w *Window
	if json.Unmarshal([]byte(nc.Annotations[Annotation]), &w) != nil {
		return nil
	}
	return w // nil for null
}
