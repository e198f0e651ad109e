package rollout

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// waits describes the progress of a pool, and what it waits for.
func (t Terms) waits(p Pool, s standing) string {
	return fmt.Sprintf("NodePool %s: %s", p.Name, t.state(p, s, ""))
}

// failed explains why a revision has failed on a pool.
func (t Terms) failed(p Pool, s standing) string {
	return fmt.Sprintf("NodePool %s did not succeed within %s: %s", p.Name, text.Duration(t.Timeout),
		t.state(p, s, "Karpenter has created none: check that the pods fit the pool in this revision"))
}

// state describes the progress of a pool. The guess is used if the reason for missing nodes is
// unknown.
func (t Terms) state(p Pool, s standing, guess string) string {
	parts := []string{fmt.Sprintf("%d of %d new nodes have been ready for %s", min(s.good, s.need), s.need, text.Duration(t.Stable))}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.ready, "ready for less than "+text.Duration(t.Stable))
	add(s.coming, "with a machine that has not joined or is not ready"+listMissing(p.New))
	add(s.asked, "without a machine yet")
	add(s.unmade, "not created yet")
	add(p.Lost, "ready before but gone now")
	if why := p.why(s, guess); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(parts, "; ")
}

// why explains, as far as known, why nodes are missing.
func (p Pool) why(s standing, guess string) string {
	switch {
	case s.empty:
		return "no pod needs a node of this pool, so it proves nothing for the pools that follow: list another pool in " +
			"spec.rollout.canary"
	case p.Unhealthy != "":
		return "its nodes do not register: " + p.Unhealthy
	case s.asked > 0 && p.Refused != "":
		return p.Refused
	case s.unmade+s.asked > 0 && p.NoStock != "":
		return "Linode has no capacity, which does not count against the timeout: " + p.NoStock
	case s.unmade > 0 && p.Hold != "":
		return p.Hold
	case s.unmade > 0:
		return cmp.Or(p.Blocked, guess)
	}
	return ""
}

// listMissing lists the nodes that have not joined or are not ready, in parentheses.
func listMissing(made []Node) string {
	var names []string
	for _, n := range made {
		if n.State != cluster.NodeRequested && n.State != cluster.NodeReady {
			names = append(names, n.Name)
		}
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return " (" + strings.Join(names, ", ") + ")"
}
