package capacity

// Node is a Node that Karpenter has registered: pods may run on it.
type Node struct {
	Name         string
	NodePool     string
	Slot         string // the slot in its name
	Ready        bool   // its kubelet reports: the machine exists, even if LKE does not list it
	Leaving      bool   // it is being deleted, and drained
	MayBeDeleted bool   // a user allows its deletion although no claim owns it
	Kept         bool   // it was reported that it stays until a user decides
}

// Drain is an instance that no claim owns and whose Node must be deleted, so that Karpenter drains it. The instance
// is deleted after the Node.
type Drain struct {
	Instance int
	Node     string
}

// Kept is an instance that no claim owns and that stays until a user decides what to do with it. Each is reported
// once.
type Kept struct {
	Pool     int
	Plan     string
	Slot     string
	Instance int
	Node     string // its registered Node; "" if the pool belongs to another provider
	NodePool string
}

// few is how many machines with pods may lose their claims at the same time and still be drained. If there are
// more, the cluster was probably restored without its NodeClaims.
const few = 3

// drainUnowned drains the machines with registered Nodes that no claim has owned for longer than the grace period.
// If there are more than a few at once, they stay, except for those that a user releases; each stays until then,
// even if few are left.
func (s *input) drainUnowned(d *Decision, groups []*group, old Memory) {
	many := 0
	for _, g := range groups {
		for _, slot := range g.inhabited {
			if n := s.Nodes[slot.Instance]; !n.Leaving && !n.MayBeDeleted {
				many++
			}
		}
	}
	for _, g := range groups {
		for _, slot := range g.undrained {
			d.Drains = append(d.Drains, Drain{Instance: slot.Instance, Node: s.Nodes[slot.Instance].Name})
		}
		for _, slot := range g.inhabited {
			n := s.Nodes[slot.Instance]
			overdue := s.now.Sub(s.memory.unownedSince[slot.ID]) >= s.policy.Grace
			switch kept := n.Kept || old.reported[slot.ID] || many > few; {
			case n.Leaving:
			case n.MayBeDeleted, overdue && !kept:
				d.Drains = append(d.Drains, Drain{Instance: slot.Instance, Node: n.Name})
			case overdue:
				s.keep(d, g, slot, n, old)
			}
		}
	}
}

// keep reports an instance that stays without a claim.
func (s *input) keep(d *Decision, g *group, slot Slot, n Node, old Memory) {
	if !s.memory.report(old, slot.ID) {
		return
	}
	for _, p := range g.pools {
		for _, other := range p.Slots {
			if other.ID == slot.ID {
				d.Kept = append(d.Kept, Kept{
					Pool: p.ID, Plan: p.Plan, Slot: slot.ID, Instance: slot.Instance, Node: n.Name, NodePool: n.NodePool,
				})
			}
		}
	}
}

// reportUnowned reports the instances without a claim in pools that another provider has created for its own
// claims, or that have lost the tag of their group. They cost money, and this controller must not delete them.
func (s *input) reportUnowned(d *Decision, old Memory) {
	for _, p := range s.Pools {
		if p.Group != "" || !p.Adopted && p.NodePool == "" {
			continue
		}
		for _, slot := range p.Slots {
			if _, owned := s.owner[slot.Instance]; owned || slot.Instance == 0 {
				continue
			}
			if s.memory.unownedSince[slot.ID] = sinceOr(old.unownedSince, slot.ID, s.now); s.now.Sub(
				s.memory.unownedSince[slot.ID]) >= s.policy.Keep && s.memory.report(old, slot.ID) {
				d.Kept = append(d.Kept, Kept{
					Pool: p.ID, Plan: p.Plan, Slot: slot.ID, Instance: slot.Instance, NodePool: p.NodePool,
				})
			}
		}
	}
}
