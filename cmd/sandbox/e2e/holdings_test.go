package e2e

import (
	"fmt"
	"time"
)

// holding is a node that stays because of something.
type holding struct {
	pool      string // whose only node it is, with one pod of the Deployment of the same name
	hold      func(s *sandbox, node string)
	release   func(s *sandbox, node string)
	says      string // why of the node
	kind      string // of the object of which Karpenter says that it is blocked
	karpenter string // what it says
}

// holdings are nodes that a PodDisruptionBudget holds, do-not-disrupt, and a budget.
func holdings(now time.Time) []holding {
	window := now.Truncate(time.Hour)
	schedule := fmt.Sprintf("0 %d * * *", window.Hour())
	return []holding{
		{
			pool: "zone", kind: "Node", karpenter: "default/zone",
			hold: func(s *sandbox, _ string) {
				s.kube("", "create", "poddisruptionbudget", "zone", "--selector=app=zone", "--max-unavailable=0")
			},
			release: func(s *sandbox, _ string) { s.kube("", "delete", "poddisruptionbudget", "zone") },
			says:    "the PodDisruptionBudget default/zone allows no eviction",
		},
		{
			pool: "arch", kind: "Node", karpenter: "default/arch-",
			hold: func(s *sandbox, _ string) {
				s.kube("", "annotate", "pods", "-l", "app=arch", "karpenter.sh/do-not-disrupt=true")
			},
			release: func(s *sandbox, _ string) {
				s.kube("", "annotate", "pods", "-l", "app=arch", "karpenter.sh/do-not-disrupt-")
			},
			says: "karpenter.sh/do-not-disrupt on pod default/arch-",
		},
		{
			pool: "spot", kind: "Node", karpenter: "Disruption is blocked through",
			hold: func(s *sandbox, node string) {
				s.kube("", "annotate", "node", node, "karpenter.sh/do-not-disrupt=true")
			},
			release: func(s *sandbox, node string) { s.kube("", "annotate", "node", node, "karpenter.sh/do-not-disrupt-") },
			says:    "karpenter.sh/do-not-disrupt on node ",
		},
		{
			pool: "taint", kind: "NodePool", karpenter: "No allowed disruptions",
			hold: func(s *sandbox, _ string) {
				s.merge("nodepool", "taint", fmt.Sprintf(
					`{"spec":{"disruption":{"budgets":[{"nodes":"0","schedule":%q,"duration":"3h"}]}}}`, schedule))
			},
			release: func(s *sandbox, _ string) {
				s.merge("nodepool", "taint",
					`{"spec":{"disruption":{"budgets":[{"nodes":"1"}]}}}`)
			},
			says: "allows no disruption of its 1 node before ",
		},
	}
}
