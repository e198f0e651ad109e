package compare

import (
	"strings"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// Guard has the guards and policies of the last applied configuration judge a
// plan, and adds their verdicts to it. A permission is the name of a guard and the address
// that it is given for, as in max_deleted_pools:pool.web; one that is not
// needed is an error, as is one that names nothing.
func Guard(p *plan.Plan, lastApplied compile.Result, head compile.Result, permissions []string) error {
	verdicts, err := p.Judge(plan.Bounds{
		Guards: lastApplied.Guards, Before: len(lastApplied.Resources), After: len(head.Resources),
	})
	if err != nil {
		return err
	}
	p.Verdicts = append(verdicts, compile.JudgePolicies(lastApplied, compile.PolicyValue(*p))...)
	return p.Allow(permissions)
}

// Judge has the guards that held when the plan was made judge it as it would be
// applied now: a freeze may have begun since, or there may be more nodes. Policies
// judged when it was made; what they refused then, and nobody allowed, stays
// refused.
func (s Saved) Judge(now *plan.Plan, permissions []string) error {
	verdicts, err := now.Judge(plan.Bounds{Guards: s.Guards, Before: s.Before, After: len(s.Resources)})
	if err != nil {
		return err
	}
	now.Verdicts = verdicts
	for _, v := range s.Plan.Verdicts {
		if strings.HasPrefix(v.Guard, "policy.") {
			now.Verdicts = append(now.Verdicts, v)
		}
	}
	if err := now.Allow(permissions); err != nil {
		return err
	}
	now.Reallow(s.Allowed)
	return nil
}
