package plan

import (
	"cmp"
	"slices"
)

// Rolling is how far the nodes of a pool match the pool and its class.
type Rolling struct {
	Addr, Pool string // the address of the block, and the name of the NodePool
	Of         int    // nodes of the pool
	Outdated   int    // still to be replaced
	Joining    int    // others that have not joined yet
	// The removal of a draining pool; nil for others.
	Condemned *Removal
	// Pace is when the budgets allow the rest; nil if nothing is left, or the time is unknown.
	Pace *Pace
	// Holds keep outdated nodes from being replaced, most nodes first.
	Holds []Held
}

// Good returns how many nodes match and have joined.
func (r Rolling) Good() int { return r.Of - r.Outdated - r.Joining }

// Rolls returns the progress of each pool of a state, sorted by name. Without offers in the state, limits do not hold
// nodes.
func Rolls(s State) ([]Rolling, error) {
	of, err := sideOf(s)
	if err != nil {
		return nil, err
	}
	all, pools := poolJudges(of), byPool(s.Nodes)
	var rolling []Rolling
	for _, o := range s.Objects {
		if o.Kind() != "NodePool" {
			continue
		}
		asks, nodes := all[o.Key()], pools[o.Name()]
		im := Impact{Known: true}
		if err := im.roll(asks, judge{}, nodes, s); err != nil {
			return nil, err
		}
		r := Rolling{
			Addr: o.Addr.String(), Pool: o.Name(), Of: len(nodes), Outdated: im.Rolled, Joining: asks.joining(nodes),
			Pace: im.Pace, Holds: im.Holds,
		}
		if removal, draining := ReadRemoval(o.Defaulted); draining {
			r.Condemned = &removal
		}
		rolling = append(rolling, r)
	}
	slices.SortFunc(rolling, func(a, b Rolling) int { return cmp.Compare(a.Pool, b.Pool) })
	return rolling, nil
}

// Outdated returns the nodes of a state that are still to be replaced, by the names of their NodeClaims.
func Outdated(s State) (map[string]bool, error) {
	of, err := sideOf(s)
	if err != nil {
		return nil, err
	}
	all, pools, outdated := poolJudges(of), byPool(s.Nodes), map[string]bool{}
	for _, o := range s.Objects {
		for _, n := range pools[o.Name()] {
			if asks, ok := all[o.Key()]; ok && asks.drifted(n) {
				outdated[n.Name] = true
			}
		}
	}
	return outdated, nil
}

// UnderWay returns the pools with nodes that are still to be replaced or have not joined.
func UnderWay(all []Rolling) []Rolling {
	return slices.DeleteFunc(slices.Clone(all), func(r Rolling) bool { return r.Good() == r.Of })
}

// joining counts the machines that match and have not joined.
func (j judge) joining(nodes []Node) (n int) {
	for _, node := range nodes {
		if !node.Initialized && !node.Deleting && !j.drifted(node) {
			n++
		}
	}
	return n
}

func byPool(nodes []Node) map[string][]Node {
	pools := map[string][]Node{}
	for _, n := range nodes {
		pools[n.Pool] = append(pools[n.Pool], n)
	}
	return pools
}
