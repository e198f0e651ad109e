package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Traits are the properties of a pool that its group determines. Some can be changed
// by hand in Cloud Manager.
type Traits struct {
	Plan           string // "" if unknown
	Labels         map[string]string
	Taints         []Taint
	Tags           []string // without the tag that names the group
	DiskEncryption string
	FirewallID     int
	Version        string
	Instead        string // the version that was requested and refused by LKE; "" if LKE accepted it
	Autoscaled     bool   // LKE's own autoscaler is on
}

// Mark is the tag of every pool of lkeplan, by which users and other programs, such as Terraform with
// external_pool_tags, recognize its pools.
const Mark = "lkeplan"

// Correction changes a pool in place, without new nodes.
type Correction struct {
	Pool   int
	Group  Group    // the properties that the pool should have
	Keep   string   // Traits.Instead of the pool, which does not change
	Fields []string // what differs: group, firewall, version, tags, mark, labels, labels in place, taints, autoscaler
}

// attempt is when a pool was last corrected, and the number of consecutive corrections.
type attempt struct {
	at     time.Time
	inARow int
	marks  int // how often Mark was requested since the pool last had it

	labels map[string]string // the requested labels: if a commit changes them, the pool is corrected without a pause
}

// The pauses between corrections of a pool that differs again right after a correction: LKE itself may undo it.
const (
	firstPause = time.Minute
	lastPause  = time.Hour
)

// mostMarks is how often Mark is requested: a call may be lost, and LKE may refuse or drop the tag. Nothing depends
// on it.
const mostMarks = 3

func (a attempt) pause() time.Duration {
	return min(firstPause<<min(max(a.inARow-1, 0), 10), lastPause)
}

// CanHold reports whether new nodes of a pool with these traits match the group. Fields that the group does not set
// match any value.
func (g Group) CanHold(t Traits) bool {
	return g.CanKeep(t) && len(g.unlike(t)) == 0
}

// CanKeep reports whether the existing nodes of a pool with these traits match the group. Differences that are left
// cannot be corrected without new nodes.
func (g Group) CanKeep(t Traits) bool {
	return t.Plan == g.Plan &&
		(g.DiskEncryption == "" || t.DiskEncryption == "" || g.DiskEncryption == t.DiskEncryption)
}

// unlike returns the names of fields that differ and that only new nodes get: LKE changes them in place for the
// pool, and existing nodes keep their old values until a user recycles them (API: node pools, firewall_id and
// k8s_version).
//
// Unverified: that such a change touches no node.
func (g Group) unlike(t Traits) (fields []string) {
	if g.FirewallID != 0 && g.FirewallID != t.FirewallID {
		fields = append(fields, "firewall")
	}
	if g.Version != "" && t.Version != "" && g.Version != t.Version {
		fields = append(fields, "version")
	}
	return fields
}

// outOfStep returns the names of fields that differ and can be corrected in place.
func (g Group) outOfStep(t Traits) (fields []string) {
	fields = g.unlike(t)
	switch have := comparableTags(t.Tags); {
	case slices.Equal(comparableTags(append(slices.Clone(g.Tags), Mark)), have):
	case slices.Equal(comparableTags(g.Tags), have):
		fields = append(fields, mark)
	default:
		fields = append(fields, "tags")
	}
	if labels := g.PoolLabels(); len(labels)+len(t.Labels) > 0 && !maps.Equal(labels, t.Labels) {
		field := inPlaceLabels
		if !maps.Equal(g.otherLabels(labels), g.otherLabels(t.Labels)) {
			field = "labels"
		}
		fields = append(fields, field)
	}
	if !slices.Equal(sortedTaints(g.Taints), sortedTaints(t.Taints)) {
		fields = append(fields, "taints")
	}
	if t.Autoscaled {
		fields = append(fields, "autoscaler")
	}
	return fields
}

// inPlaceLabels is the name of the difference if only labels differ that a commit has changed in place.
const inPlaceLabels = "labels in place"

// Intended reports whether the pool only differs in labels that a commit has changed in place, so that nothing is
// wrong with it.
func (c Correction) Intended() bool { return len(c.Fields) == 1 && c.Fields[0] == inPlaceLabels }

// otherLabels returns the labels that do not change in place.
func (g Group) otherLabels(labels map[string]string) map[string]string {
	others := maps.Clone(labels)
	maps.DeleteFunc(others, func(key, _ string) bool { _, ok := g.InPlace[key]; return ok })
	return others
}

// mark is the name of the difference if a pool only lacks the tag Mark: a user has removed it, or LKE has dropped
// it.
const mark = "mark"

// Unmarked reports whether the pool only lacks Mark.
func (c Correction) Unmarked() bool { return len(c.Fields) == 1 && c.Fields[0] == mark }

// comparableTags returns tags in a form in which they can be compared as LKE does: in any order and case.
func comparableTags(tags []string) []string {
	var out []string
	for _, tag := range tags {
		out = append(out, strings.ToLower(tag))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func sortedTaints(taints []Taint) []Taint {
	return slices.SortedFunc(slices.Values(taints), func(a, b Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Value, b.Value))
	})
}

func hasMark(p Pool) bool { return slices.Contains(comparableTags(p.Tags), Mark) }

// correct compares the group's pools with the group, and adds corrections.
func (g *group) correct(old Memory, memory *Memory, work *Work, now time.Time) {
	spec := g.spec
	if spec.Plan == "" {
		spec = g.shape
	}
	for _, p := range g.pools {
		if !spec.CanKeep(p.Traits) {
			continue
		}
		fields := spec.outOfStep(p.Traits)
		if p.Group == "" {
			fields = append([]string{"group"}, fields...)
		}
		last, tried := old.corrected[p.ID]
		if labels := spec.PoolLabels(); tried && len(spec.InPlace) > 0 && !maps.Equal(labels, last.labels) {
			last.at, last.inARow = time.Time{}, 0
		}
		if hasMark(p) {
			last.marks = 0
		}
		if last.marks >= mostMarks && len(fields) == 1 && fields[0] == mark {
			fields = nil
		}
		switch {
		case p.Traits.Plan == "":
		case len(fields) > 0 && (!tried || now.Sub(last.at) >= last.pause()):
			work.Corrections = append(work.Corrections, Correction{Pool: p.ID, Group: spec, Keep: p.Instead, Fields: fields})
			next := attempt{at: now, inARow: last.inARow + 1, marks: last.marks, labels: spec.PoolLabels()}
			if slices.Contains(fields, mark) {
				next.marks++
			}
			memory.corrected[p.ID] = next
		case tried && (len(fields) > 0 || now.Sub(last.at) < lastPause || last.marks > 0):
			memory.corrected[p.ID] = last
		}
	}
}
