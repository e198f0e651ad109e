package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/timing"
)

// waits says how far a pool is, and what it waits for.
func (t Terms) waits(p Pool, s standing) string {
	return fmt.Sprintf("NodePool %s: %s", p.Name, t.state(p, s, ""))
}

// failed says why a revision has failed on a pool.
func (t Terms) failed(p Pool, s standing) string {
	return fmt.Sprintf("NodePool %s did not prove it within %s: %s", p.Name, text(t.Timeout),
		t.state(p, s, "Karpenter has made none: do the pods fit the pool as it is in this revision?"))
}

// state says how far a pool is. The guess is for the case that nothing is known of what is
// missing.
func (t Terms) state(p Pool, s standing, guess string) string {
	parts := []string{fmt.Sprintf("%d of %d new nodes good", min(s.good, s.need), s.need)}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.ready, "ready, and to stay so for "+text(t.Stable))
	add(s.coming, "with a machine that has not joined, or is not ready"+named(p.New))
	add(s.asked, "without a machine yet")
	add(s.unmade, "not made")
	add(p.Lost, "that was ready and is gone")
	if why := p.why(s, guess); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(parts, "; ")
}

// why is what is known of what is missing.
func (p Pool) why(s standing, guess string) string {
	switch {
	case s.empty:
		return "no pod needs a node of it, so that nothing is proven before other pools follow: name another pool in " +
			"spec.rollout.canary"
	case p.Unhealthy != "":
		return "its nodes do not register: " + p.Unhealthy
	case s.asked > 0 && p.Refused != "":
		return p.Refused
	case s.unmade+s.asked > 0 && p.NoStock != "":
		return "Linode has no capacity, which is not held against the revision: " + p.NoStock
	case s.unmade > 0 && p.Hold != "":
		return p.Hold
	case s.unmade > 0:
		return cmp.Or(p.Blocked, guess)
	}
	return ""
}

// named are the nodes that do not come up, in brackets.
func named(made []Node) string {
	var names []string
	for _, n := range made {
		if n.State == Joining || n.State == Unready {
			names = append(names, n.Name)
		}
	}
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func text(d time.Duration) string { return timing.WriteDuration(d) }
