// Package maintenance prepares nodes for work on their hosts, which Linode announces hours or days before: each Node
// gets a condition, and if its class sets replaceBeforeMaintenance, the node is replaced before the work starts, within
// the budgets of its NodePool.
//
// Karpenter replaces a node if its claim drifts. What is due is written on the NodeClaim, where it survives the
// process; Provider.IsDrifted reads it. The package sends nothing to Linode.
package maintenance

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
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

	// Seen is when a list first showed that it has started, if its start is unknown.
	Seen time.Time `json:"seen,omitzero"`
}

// String is the maintenance for people: "type power_off_on, starts at 2026-11-28T03:00:00Z (emergency)"; "started at" if it has
// started.
func (w Window) String() string {
	when := "starts at an unknown time"
	switch {
	case !w.Start.IsZero() && w.Started:
		when = "started at " + w.Start.UTC().Format(time.RFC3339)
	case !w.Start.IsZero():
		when = "starts at " + w.Start.UTC().Format(time.RFC3339)
	case w.Started:
		when = "has started"
	}
	text := when
	if w.Type != "" {
		text = "type " + w.Type + ", " + when
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
	switch {
	case w == nil || !now.Before(w.Until()):
		return false
	case w.Start.IsZero():
		return w.Started
	}
	return w.Started || !now.Before(w.Start.Add(-early))
}

// Until is until when the maintenance explains that the machine is off: Lasts after its start, or after it was first
// seen to have started. It is in the past if neither is known: such a maintenance could explain it forever.
func (w *Window) Until() time.Time {
	if w.Start.IsZero() {
		return w.Seen.Add(Lasts)
	}
	return w.Start.Add(Lasts)
}

// Over reports whether the start has passed for longer than a maintenance lasts. Linode may keep listing it, but it
// replaces no node: nothing would end that.
func (w *Window) Over(now time.Time) bool {
	return w != nil && !w.Start.IsZero() && !now.Before(w.Until())
}

// seen is the window with the time since when lists have shown that it has started. Before is the window of the same
// machine in the list before.
func (w Window) seen(before Window, now time.Time) Window {
	if !w.Start.IsZero() || !w.Started {
		return w
	}
	w.Seen = now
	if before.Start.IsZero() && before.Started && before.Type == w.Type && !before.Seen.IsZero() && !before.Seen.After(now) {
		w.Seen = before.Seen
	}
	return w
}

// Decision is the desired state of one claim.
type Decision struct {
	Claim   *karpv1.NodeClaim
	Window  *Window // nil: its machine has no maintenance
	Due     bool    // the node is to be replaced for Window, and gets no new pods
	Replace bool    // the claim drifts now: all due claims with an earlier Window have drifted
}

// Windows are the announced maintenance by the id of the Linode. Of several, it is one that explains the state of the
// machine now, or else the earliest that is not over: a maintenance without a time, or one that Linode has not removed
// from the list, must not hide the one that the machine is off for, or that is to come.
func Windows(announced []api.Maintenance, now time.Time) map[int]Window {
	windows := map[int]Window{}
	for _, m := range announced {
		w := Window{Start: m.Start, Type: typeText(m.Type), Emergency: m.Emergency, Started: m.Started()}
		before, ok := windows[m.Linode]
		explains, explained := w.Explains(now), before.Explains(now)
		if !ok || explains && !explained || explains == explained && w.Compare(before, now) < 0 {
			windows[m.Linode] = w
		}
	}
	return windows
}

// mostType is the maximum length of a type in messages, in bytes. Those of Linode are one word.
const mostType = 60

// typeText is a type as it is written in annotations, conditions and events. A type that is not a word is quoted.
func typeText(kind string) string {
	word := strings.IndexFunc(kind, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
	if word && len(kind) <= mostType {
		return kind
	}
	return nodeclaim.Quoted(kind, mostType)
}

// Compare is negative if w comes before o. One whose start Linode does not name comes first if it has started, and
// after the others otherwise. One that is over comes last.
func (w Window) Compare(o Window, now time.Time) int {
	rank := func(w Window) int {
		switch {
		case w.Over(now):
			return 3
		case !w.Start.IsZero():
			return 1
		case w.Started:
			return 0
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(w), rank(o)), w.Start.Compare(o.Start), strings.Compare(w.Type, o.Type))
}

// Decide decides for all claims. Lead returns how long before its maintenance a claim's node is to be replaced; false
// if its class does not ask for it. Drifted reports whether Karpenter replaces a claim already, or it is being deleted.
//
// Claims with the same start drift together, and those with a later start after them, because Karpenter replaces nodes
// in the order in which they drifted. A maintenance whose start Linode does not name replaces no node: it may be far
// away, and all nodes could be replaced at once. Nor does one that is over.
func Decide(now time.Time, claims []*karpv1.NodeClaim, windows map[int]Window,
	lead func(*karpv1.NodeClaim) (time.Duration, bool), drifted func(*karpv1.NodeClaim) bool) []Decision {
	decisions := make([]Decision, 0, len(claims))
	for _, nc := range claims {
		d := Decision{Claim: nc}
		if w, ok := windows[nodeclaim.InstanceOf(nc.Status.ProviderID)]; ok {
			before, asked := lead(nc)
			d.Window, d.Due = &w, asked && !w.Start.IsZero() && !now.Before(w.Start.Add(-before)) && !w.Over(now)
		}
		decisions = append(decisions, d)
	}
	slices.SortStableFunc(decisions, func(a, b Decision) int {
		switch {
		case a.Due != b.Due:
			return map[bool]int{true: -1, false: 1}[a.Due]
		case !a.Due:
			return 0
		}
		return a.Window.Compare(*b.Window, now)
	})
	for i := range decisions {
		d := &decisions[i]
		if !d.Due || i > 0 && !d.Window.Start.Equal(decisions[i-1].Window.Start) &&
			slices.ContainsFunc(decisions[:i], func(before Decision) bool { return !drifted(before.Claim) }) {
			break
		}
		d.Replace = true
	}
	return decisions
}

// Annotation has the Window of a NodeClaim's machine, as JSON. AnnotationReplace is "true" while the node is to be
// replaced before that.
const (
	Annotation        = "lkeplan.dev/maintenance"
	AnnotationReplace = "lkeplan.dev/replace-before-maintenance"
)

// annotations are what a decision wants on its claim; "" for none.
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

// Of is the maintenance that a NodeClaim's annotation has; nil if it has none.
func Of(nc *karpv1.NodeClaim) *Window { return In(nc.Annotations) }

// In is Of for the annotations of a NodeClaim.
func In(annotations map[string]string) *Window {
	text, ok := annotations[Annotation]
	if !ok {
		return nil
	}
	var w *Window
	if json.Unmarshal([]byte(text), &w) != nil {
		return nil
	}
	return w // nil for null
}
