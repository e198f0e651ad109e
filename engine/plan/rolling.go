package plan

import (
	"cmp"
	"slices"
)

// Rolling is how far the nodes of a pool are what the pool and its class ask for.
type Rolling struct {
	Addr, Pool string // the address of the block, and the name of the NodePool
	Of         int    // nodes of the pool
	Outdated   int    // that are still to be replaced
	Joining    int    // the others that are no nodes of the cluster yet
	// Condemned is since when the pool gives up its nodes, to be deleted after them, and
	// how many it had then; nil where it does not.
	Condemned *Removal
	// Pace is how the budgets spread what is left; nil where nothing is, or the
	// time is not known.
	Pace *Pace
	// Holds keep outdated nodes from being replaced, most nodes first.
	Holds []Held
}

// Good is how many nodes are as they should be.
func (r Rolling) Good() int { return r.Of - r.Outdated - r.Joining }

// Rolls says for each pool of a state, in order of its name, how far its nodes
// are. Limits hold none where the state has no offers.
func Rolls(s State) ([]Rolling, error) {
	of, err := sideOf(s)
	if err != nil {
		return nil, err
	}
	all, pools := judges(of), byPool(s.Nodes)
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
		if sentence, condemned := ReadRemoval(o.Defaulted); condemned {
			r.Condemned = &sentence
		}
		rolling = append(rolling, r)
	}
	slices.SortFunc(rolling, func(a, b Rolling) int { return cmp.Compare(a.Pool, b.Pool) })
	return rolling, nil
}

// Outdated are the nodes of a state that are to be replaced, by the names of their
// NodeClaims.
func Outdated(s State) (map[string]bool, error) {
	of, err := sideOf(s)
	if err != nil {
		return nil, err
	}
	all, pools, outdated := judges(of), byPool(s.Nodes), map[string]bool{}
	for _, o := range s.Objects {
		for _, n := range pools[o.Name()] {
			if asks, ok := all[o.Key()]; ok && asks.drifted(n) {
				outdated[n.Name] = true
			}
		}
	}
	return outdated, nil
}

// UnderWay are the pools that have nodes to be replaced, or machines that have not
// joined.
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
