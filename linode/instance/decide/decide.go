// Package decide decides for instance mode which Linodes to create, to assign to NodeClaims and to delete:
// one Linode for each claim. Package capacity does the same for LKE's node pools.
//
// It is pure: a View of claims and machines, the Memory of earlier decisions and the time
// go in, a Decision with the next Memory comes out. It knows no client, no clock and no
// Karpenter type.
//
// The label of a Linode is unique in its account, and [Label] makes it from the cluster
// and the claim's UID. So a call without an answer is sent again: where it was done after
// all, Linode says that the label is taken, and nothing is made twice. A restart forgets
// nothing that the next list does not show.
//
// Three things a list cannot say, and what is done instead:
//
//   - That a machine is gone: a list may lack one that is there. A claim's machine is lost
//     when Linode was asked for that very machine. A claim that ends has none any more when
//     Linode was asked for it, and for its label too unless this process has made the only one.
//   - That a call will not be done any more: one without an answer counts as under way for
//     Policy.Late. A claim that ends waits for that, as its machine could still come.
//   - That a machine is not needed: one that no claim owns is deleted when two lists have
//     shown it for Policy.Keep, and drained first where pods may run on it.
package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// View is what Linode and the API server show at one moment.
type View struct {
	Claims   []Claim
	Machines []Machine    // those with the cluster's tag
	Nodes    map[int]Node // by machine, those that Karpenter has registered
	Asked    time.Time    // when Linode was asked for the machines
}

// Claim is a NodeClaim, as far as machines go.
type Claim struct {
	UID     string
	Kind    string    // equal where Linode would refuse both for the same reason: plan type and class
	Machine int       // the id of its Linode; 0 while it waits for one
	Created time.Time // older claims are served first
	Leaving bool      // it is being deleted: it asks for nothing
}

// Machine is a Linode with the cluster's tag.
type Machine struct {
	ID    int
	Label string
}

// Node is a Node that Karpenter has registered: pods may run on it.
type Node struct {
	Name         string
	Leaving      bool // it is being deleted, and so drained
	MayBeDeleted bool // an annotation says that it may go though no claim owns it
}

// Policy holds the numbers that Decide goes by.
type Policy struct {
	Cluster string        // the beginning of each label
	Keep    time.Duration // how long a machine may stay that no claim owns
	Late    time.Duration // how long after it was sent a call without an answer may be done
	Burst   int           // creates within a Window
	Window  time.Duration
	Quick   time.Duration // from one list to the next while claims wait
	Idle    time.Duration // from one list to the next while none does
}

// Decision is what to do now. Memory is what to hand to the next call of Decide. What a
// Decision returns counts as begun, until a method of Memory says how it ended.
type Decision struct {
	Creates     []Create
	Binds       []Bind
	Deletes     []Delete
	Looks       []Look
	Drains      []Drain
	Lost        []string      // claims whose machine is gone: to be ended
	Unconfirmed []string      // claims whose machine Linode says is gone, while so many Nodes say otherwise
	Taken       []string      // claims whose label another Linode of the account has: to be deleted
	OutOfStock  []string      // claims that Linode has no machine for: to be deleted if a live read shows none
	Kept        []int         // machines that no claim owns and that stay, reported once
	Queued      []string      // claims whose creates wait for the rate limit
	Queue       time.Duration // how long the last of those waits
	PollIn      time.Duration
	Memory      Memory
}

// Create creates the machine of a claim. Sent twice, it makes one.
type Create struct{ UID, Label string }

// Bind stores the machine of a claim.
type Bind struct {
	UID     string
	Machine int
}

// Delete deletes a machine, if it has this label or the cluster's tag, either of which a person
// may have changed; without a claim both.
type Delete struct {
	UID     string // of the claim that ends; "" if none was seen that owns it: to be read live before
	Machine int
	Label   string
}

// Look asks for one machine, which a list lacks: by its id, or by its label and the
// cluster's tag.
type Look struct {
	UID     string
	Machine int
	Label   string // "" where it goes by the id
}

// Drain has Karpenter drain the Node of a machine that no claim owns.
type Drain struct {
	Machine int
	Node    string
}

// scene is the input of one decision.
type scene struct {
	View
	memory *Memory
	policy Policy
	now    time.Time
	listed map[int]Machine
	named  map[string]Machine // by label
	lost   []Claim            // whose machine is not there, as Linode says
}

// Decide compares claims with machines.
func Decide(view View, memory Memory, policy Policy, now time.Time) Decision {
	d := Decision{Memory: memory.after(view, policy, now)}
	s := &scene{
		View: view, memory: &d.Memory, policy: policy, now: now, listed: map[int]Machine{}, named: map[string]Machine{},
	}
	for _, m := range view.Machines {
		s.listed[m.ID], s.named[m.Label] = m, m
	}
	var waiting []Claim
	owned := map[int]bool{}
	for _, c := range view.Claims {
		machine := s.machineOf(c)
		owned[machine] = true
		switch {
		case s.released(c):
			s.release(&d, c, machine)
		case c.Leaving: // Karpenter drains it, and releases it then
		case machine == 0:
			waiting = append(waiting, c)
		case c.Machine == 0:
			s.bind(&d, c, machine)
		default:
			s.checkMissing(&d, c)
		}
	}
	s.endLost(&d)
	s.create(&d, waiting)
	s.removeOrphans(&d, owned)
	d.PollIn = policy.Idle
	if len(waiting) > 0 || d.Memory.pending(view) {
		d.PollIn = policy.Quick
	}
	return d
}

// machineOf is the machine of a claim, stored or not; 0 if it has none.
func (s *scene) machineOf(c Claim) int {
	if c.Machine != 0 {
		return c.Machine
	}
	if a, ok := s.memory.assigned[c.UID]; ok {
		return a.machine
	}
	if m, ok := s.named[Label(s.policy.Cluster, c.UID)]; ok {
		return m.ID
	}
	return s.memory.asked[c.UID].made
}

func (s *scene) released(c Claim) bool {
	_, ok := s.memory.ending[c.UID]
	return ok
}

// stored is how long a claim may be shown without the machine that was stored on it.
const stored = 10 * time.Second

// bind stores the machine of a claim, and again where it was overwritten.
func (s *scene) bind(d *Decision, c Claim, machine int) {
	if a, ok := s.memory.assigned[c.UID]; ok && (a.underway || s.now.Sub(a.at) < stored) {
		return
	}
	put(&s.memory.assigned, c.UID, assignment{machine: machine, at: s.now, underway: true})
	d.Binds = append(d.Binds, Bind{UID: c.UID, Machine: machine})
}

// lookAgain is the time between two looks for one machine.
const lookAgain = 10 * time.Second

// checkMissing looks for a machine that the list lacks. If Linode says that it is not there,
// the claim has lost it.
func (s *scene) checkMissing(d *Decision, c Claim) {
	if _, ok := s.listed[c.Machine]; ok {
		delete(s.memory.missing, c.UID)
		return
	}
	m := s.memory.missing[c.UID]
	switch {
	case m.absent:
		s.lost = append(s.lost, c)
		return
	case m.underway, s.now.Sub(m.at) < lookAgain:
		return
	}
	put(&s.memory.missing, c.UID, missing{at: s.now, underway: true})
	d.Looks = append(d.Looks, Look{UID: c.UID, Machine: c.Machine})
}

// endLost ends the claims that have lost their machine. If that is so of many whose Nodes are
// there, or of all, Linode is rather asked for another account, or by a user who may not see
// them: they are held until it lists them again or the Nodes go.
func (s *scene) endLost(d *Decision) {
	inhabited := func(c Claim) bool {
		node, there := s.Nodes[c.Machine]
		return there && !node.Leaving
	}
	alive := 0
	for _, c := range s.lost {
		if inhabited(c) {
			alive++
		}
	}
	hold := alive > maxDrainedOrphans || alive > 1 && len(s.listed) == 0
	for _, c := range s.lost {
		if hold && inhabited(c) {
			d.Unconfirmed = append(d.Unconfirmed, c.UID)
		} else {
			d.Lost = append(d.Lost, c.UID)
		}
	}
}

// deleteAgain is the time between two calls that delete one machine.
const deleteAgain = 10 * time.Second

// release deletes the machine of a claim that ends. It is gone when Linode has confirmed it for
// that machine, no list shows one of its label, and no call that makes one is under way.
func (s *scene) release(d *Decision, c Claim, machine int) {
	e := s.memory.ending[c.UID]
	label := Label(s.policy.Cluster, c.UID)
	m, shown := s.named[label]
	if shown && m.ID != machine {
		machine, e.late = m.ID, true // made late, after its predecessor was deleted
	}
	ask := s.memory.asked[c.UID]
	settled := !ask.underway && !s.Asked.Before(ask.doneBy)
	deleted := machine == 0 || s.memory.deleted[machine]
	switch {
	case deleted && !shown && settled && s.Asked.After(e.at):
		e = s.confirmGone(d, c, e, machine != 0 && machine == ask.made && ask.unanswered == 0 && !e.late)
	case machine != 0 && (!deleted || shown):
		s.delete(d, Delete{UID: c.UID, Machine: machine, Label: label})
	}
	s.memory.ending[c.UID] = e
}

// confirmGone ends a claim without a machine. Unless one machine is all that it can have had, a
// list that lacks it is not enough: Linode is asked for the label. One is all if this process has
// made it: after a restart, and for a claim that was away, it does not know what was asked before.
// A claim can store another than the one that was made last, if a stale cache showed it without it.
func (s *scene) confirmGone(d *Decision, c Claim, e ending, one bool) ending {
	switch {
	case one, e.absent:
		e.gone = true
	case e.looking.underway, s.now.Sub(e.looking.at) < lookAgain:
	default:
		e.looking = attempt{at: s.now, underway: true}
		d.Looks = append(d.Looks, Look{UID: c.UID, Label: Label(s.policy.Cluster, c.UID)})
	}
	return e
}

func (s *scene) delete(d *Decision, order Delete) {
	if t, ok := s.memory.deleting[order.Machine]; ok && (t.underway || s.now.Sub(t.at) < deleteAgain) {
		return
	}
	put(&s.memory.deleting, order.Machine, attempt{at: s.now, underway: true})
	d.Deletes = append(d.Deletes, order)
}

// maxDrainedOrphans is how many machines with pods on them may lose their claims at once, for it to look
// like a person's work: more look like a restore of the cluster without its NodeClaims.
const maxDrainedOrphans = 3

// removeOrphans deletes machines that no claim owns. Those on which pods may run are drained; more
// than a few of them at once stay, but for those that may be deleted.
func (s *scene) removeOrphans(d *Decision, owned map[int]bool) {
	many := 0
	for _, m := range s.Machines {
		if n, ok := s.Nodes[m.ID]; ok && !owned[m.ID] && !n.Leaving && !n.MayBeDeleted {
			many++
		}
	}
	for _, m := range s.Machines {
		if owned[m.ID] || !Ours(s.policy.Cluster, m.Label) {
			continue
		}
		since, again := s.memory.unowned[m.ID]
		if !again {
			put(&s.memory.unowned, m.ID, s.now)
		}
		n, inhabited := s.Nodes[m.ID]
		switch overdue := again && s.now.Sub(since) >= s.policy.Keep; {
		case inhabited && n.MayBeDeleted && !n.Leaving, overdue && inhabited && !n.Leaving && many <= maxDrainedOrphans:
			d.Drains = append(d.Drains, Drain{Machine: m.ID, Node: n.Name})
		case overdue && inhabited && !n.Leaving && !s.memory.reported[m.ID]:
			put(&s.memory.reported, m.ID, true)
			d.Kept = append(d.Kept, m.ID)
		case overdue && !inhabited:
			s.delete(d, Delete{Machine: m.ID, Label: m.Label})
		}
	}
	slices.SortFunc(d.Deletes, func(a, b Delete) int { return a.Machine - b.Machine })
}

// hashed is how many hex digits of a label stand for the claim's UID.
const hashed = 20

// Label is the label of a claim's machine, and the name of its Node. Linode allows 64
// characters, so a cluster's name may have 43.
func Label(cluster, uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return cluster + "-" + hex.EncodeToString(sum[:])[:hashed]
}

// Ours reports whether a label is one that Label has made for a cluster.
func Ours(cluster, label string) bool {
	digits, ok := strings.CutPrefix(label, cluster+"-")
	if _, err := hex.DecodeString(digits); err != nil {
		return false
	}
	return ok && len(digits) == hashed && digits == strings.ToLower(digits)
}
