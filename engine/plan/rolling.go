package plan

import (
	"cmp"
	"slices"
)

// Rolling is how far the nodes of a pool match the pool and its class.
type Rolling struct {
	Addr      string    `json:"address"`
	Pool      string    `json:"name" doc:"Of the NodePool."`
	Of        int       `json:"of" doc:"Nodes of the pool."`
	Outdated  int       `json:"outdated" doc:"Nodes that are still to be replaced."`
	Joining   int       `json:"joining" doc:"Machines that have not joined the cluster yet."`
	Condemned *Removal  `json:"condemned,omitempty" doc:"The removal of a pool that is no longer declared: it drains its nodes and is then deleted."`
	Refresh   *Calendar `json:"-"` // when nodes are replaced because of their age; nil if they are not
	// Pace is when the budgets allow the rest; nil if nothing is left, or the time is unknown.
	Pace  *Pace  `json:"budget,omitempty"`
	Holds []Held `json:"holds,omitempty" doc:"What keeps nodes from being replaced."` // most nodes first
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
	judgeOfPool, pools := judgeOf(of), byPool(s.Nodes)
	var rolling []Rolling
	for _, o := range of.objects {
		if o.pool == nil {
			continue
		}
		name := o.pool.Name
		asks, nodes := judgeOfPool(o), pools[name]
		im := Impact{Known: true}
		if err := im.roll(asks, judge{}, nodes, s); err != nil {
			return nil, err
		}
		r := Rolling{
			Addr: o.Addr.String(), Pool: name, Of: len(nodes), Outdated: im.Rolled, Joining: asks.joining(nodes),
			Pace: im.Pace, Holds: im.Holds, Refresh: im.Refresh,
		}
		if removal, draining := removalOf(o.pool); draining {
			if r.Condemned = &removal; r.Pace != nil {
				removal.Soonest = r.Pace.Soonest(r.Of)
			}
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
	judgeOfPool, pools, outdated := judgeOf(of), byPool(s.Nodes), map[string]bool{}
	for _, o := range of.objects {
		if o.pool == nil {
			continue
		}
		asks := judgeOfPool(o)
		for _, n := range pools[o.pool.Name] {
			if asks.drifted(n) {
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
