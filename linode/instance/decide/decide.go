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

// View is the state of Linode and the API server at one time.
type View struct {
	Claims   []Claim
	Machines []Machine    // those with the cluster's tag
	Nodes    map[int]Node // registered Nodes by machine
	Asked    time.Time    // when the request for the machines was sent
}

// Claim is a NodeClaim, as far as it matters for machines.
type Claim struct {
	UID     string
	Kind    string    // plan type and class: equal if Linode would refuse both claims for the same reason
	Machine int       // id of its Linode; 0 while it waits for one
	Created time.Time // older claims get machines first
	Leaving bool      // it is being deleted and needs no machine
}

// Machine is a Linode with the cluster's tag.
type Machine struct {
	ID    int
	Label string
}

// Node is a Node that Karpenter has registered: pods may run on it.
type Node struct {
	Name         string
	Leaving      bool // it is being deleted, and drained
	MayBeDeleted bool // an annotation allows its deletion although no claim owns it
}

// Policy has the settings of Decide.
type Policy struct {
	Cluster string        // prefix of each label
	Keep    time.Duration // how long a machine may stay without a claim
	Late    time.Duration // how long after it was sent a call without an answer may take effect
	Burst   int           // creates within a Window
	Window  time.Duration
	Quick   time.Duration // time between lists while claims wait
	Idle    time.Duration // time between lists while no claim waits
}

// Decision says what to do now. Memory is the argument for the next call of Decide. The actions of a Decision count
// as started until a method of Memory records their result.
type Decision struct {
	Creates     []Create
	Binds       []Bind
	Deletes     []Delete
	Looks       []Look
	Drains      []Drain
	Lost        []string      // claims whose machine is gone: delete them
	Unconfirmed []string      // claims whose machine is gone according to Linode, although too many of their Nodes exist
	Taken       []string      // claims whose label another Linode of the account has: delete them
	OutOfStock  []string      // claims whose plan type is out of stock: delete them, if a live read shows no machine
	Kept        []int         // machines that stay without a claim, each reported once
	Queued      []string      // claims whose creates wait for the rate limit
	Queue       time.Duration // how long the last of those has to wait
	PollIn      time.Duration
	Memory      Memory
}

// Create creates the machine of a claim. If it is sent twice, only one machine is created, because the label is
// unique.
type Create struct{ UID, Label string }

// Bind stores the machine of a claim.
type Bind struct {
	UID     string
	Machine int
}

// Delete deletes a machine if it has this label or the cluster's tag, because a user may have changed one of them.
// Without a claim, it must have both.
type Delete struct {
	UID     string // the claim that ends; "" if no claim was seen, which is checked live before the deletion
	Machine int
	Label   string
}

// Look requests one machine that a list lacks: by its id, or by its label and the cluster's tag.
type Look struct {
	UID     string
	Machine int
	Label   string // "" if it is requested by its id
}

// Drain deletes the Node of a machine without a claim, so that Karpenter drains it.
type Drain struct {
	Machine int
	Node    string
}

// input is the input of one decision: the view, together with what Memory knows of it.
type input struct {
	View
	memory *Memory
	policy Policy
	now    time.Time
	listed map[int]Machine
	named  map[string]Machine // by label
	lost   []Claim            // claims whose machine does not exist according to Linode
}

// Decide compares claims with machines.
func Decide(view View, memory Memory, policy Policy, now time.Time) Decision {
	d := Decision{Memory: memory.after(view, policy, now)}
	s := &input{
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
		case c.Leaving: // Karpenter drains it, and then releases it
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

// machineOf returns the machine of a claim, whether it is stored or not; 0 if it has none.
func (s *input) machineOf(c Claim) int {
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

func (s *input) released(c Claim) bool {
	_, ok := s.memory.ending[c.UID]
	return ok
}

// stored is how long a claim may be shown without the machine that was stored on it.
const stored = 10 * time.Second

// bind stores the machine of a claim, and stores it again if it was overwritten.
func (s *input) bind(d *Decision, c Claim, machine int) {
	if a, ok := s.memory.assigned[c.UID]; ok && (a.underway || s.now.Sub(a.at) < stored) {
		return
	}
	putInto(&s.memory.assigned, c.UID, assignment{machine: machine, at: s.now, underway: true})
	d.Binds = append(d.Binds, Bind{UID: c.UID, Machine: machine})
}

// lookAgain is the time between two requests for one machine.
const lookAgain = 10 * time.Second

// checkMissing requests a machine that the list lacks. If Linode does not have it, the claim has lost it.
func (s *input) checkMissing(d *Decision, c Claim) {
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
	putInto(&s.memory.missing, c.UID, missing{at: s.now, underway: true})
	d.Looks = append(d.Looks, Look{UID: c.UID, Machine: c.Machine})
}

// endLost ends the claims that have lost their machine. If many of them still have Nodes, or all machines are lost,
// the token probably belongs to another account or to a user who may not list them: then the claims stay until the
// machines are listed again or the Nodes are gone.
func (s *input) endLost(d *Decision) {
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

// deleteAgain is the time between two calls that delete the same machine.
const deleteAgain = 10 * time.Second

// release deletes the machine of a claim that ends. The machine is gone if Linode has confirmed it, no list shows a
// machine with its label, and no call that creates it is pending.
func (s *input) release(d *Decision, c Claim, machine int) {
	e := s.memory.ending[c.UID]
	label := Label(s.policy.Cluster, c.UID)
	m, shown := s.named[label]
	if shown && m.ID != machine {
		machine, e.late = m.ID, true // created late, after its predecessor was deleted
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

// confirmGone ends a claim without a machine. one means that the claim can have had only a single machine, because
// this process has created it. Otherwise a list that lacks the machine is not enough, and Linode is asked for the
// label: after a restart, or for a claim that was missing for a while, this process does not know which calls were
// sent. If a stale cache showed a claim without its machine, a second machine may have been created and stored.
func (s *input) confirmGone(d *Decision, c Claim, e ending, one bool) ending {
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

func (s *input) delete(d *Decision, order Delete) {
	if t, ok := s.memory.deleting[order.Machine]; ok && (t.underway || s.now.Sub(t.at) < deleteAgain) {
		return
	}
	putInto(&s.memory.deleting, order.Machine, attempt{at: s.now, underway: true})
	d.Deletes = append(d.Deletes, order)
}

// maxDrainedOrphans is how many machines with pods may lose their claims at the same time and still be drained. If
// there are more, the cluster was probably restored without its NodeClaims.
const maxDrainedOrphans = 3

// removeOrphans deletes machines without a claim. Machines on which pods may run are drained first. If there are
// more than a few of those at once, they stay, except for those that an annotation releases.
func (s *input) removeOrphans(d *Decision, owned map[int]bool) {
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
			putInto(&s.memory.unowned, m.ID, s.now)
		}
		n, inhabited := s.Nodes[m.ID]
		switch overdue := again && s.now.Sub(since) >= s.policy.Keep; {
		case inhabited && n.MayBeDeleted && !n.Leaving, overdue && inhabited && !n.Leaving && many <= maxDrainedOrphans:
			d.Drains = append(d.Drains, Drain{Machine: m.ID, Node: n.Name})
		case overdue && inhabited && !n.Leaving && !s.memory.reported[m.ID]:
			putInto(&s.memory.reported, m.ID, true)
			d.Kept = append(d.Kept, m.ID)
		case overdue && !inhabited:
			s.delete(d, Delete{Machine: m.ID, Label: m.Label})
		}
	}
	slices.SortFunc(d.Deletes, func(a, b Delete) int { return a.Machine - b.Machine })
}

// hashed is the number of hexadecimal digits in a label that identify the claim's UID.
const hashed = 20

// Label returns the label of a claim's machine, which is also the name of its Node. Linode allows 64 characters, so
// the cluster's name may have 43.
func Label(cluster, uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return cluster + "-" + hex.EncodeToString(sum[:])[:hashed]
}

// Ours reports whether Label can have created a label for a cluster.
func Ours(cluster, label string) bool {
	digits, ok := strings.CutPrefix(label, cluster+"-")
	if _, err := hex.DecodeString(digits); err != nil {
		return false
	}
	return ok && len(digits) == hashed && digits == strings.ToLower(digits)
}
