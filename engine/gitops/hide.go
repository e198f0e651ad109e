package gitops

import (
	"context"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/trace"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Variables are the values of a NodePlan, and the secret values that must not be shown.
type Variables struct {
	Vars    []config.Var
	Secrets []string
}

// mask hides secrets in an outcome, and in the parts of the status that a plan writes. The compiler
// refuses values from Secrets in objects and messages; mask covers objects that contain the same
// values for other reasons. It truncates texts after that, because it would not find half a secret.
func (v Variables) mask(np *lkeplanv1alpha1.NodePlan, o outcome) outcome {
	hidden := trace.NewRedactor(v.Secrets)
	hide := func(texts ...*string) {
		for _, text := range texts {
			*text = hidden.Replace(*text)
		}
	}
	hide(&o.message, &o.event, &o.corrected)
	s := &np.Status
	s.Guards = s.Guards[:min(len(s.Guards), mostListed)]
	for i := range s.Guards {
		hide(&s.Guards[i].Message, &s.Guards[i].Address, &s.Guards[i].Permission)
		s.Guards[i].Message = diag.Shorten(s.Guards[i].Message, maxVerdict)
	}
	for i := range s.Drift {
		hide(&s.Drift[i].Object, &s.Drift[i].Path)
	}
	for i := range s.Pools {
		hide(&s.Pools[i].Name)
	}
	if s.Rollout != nil {
		hide(&s.Rollout.Message)
		s.Rollout.Message = diag.Shorten(s.Rollout.Message, maxVerdict)
	}
	if s.Plan != nil {
		hide(&s.Plan.Summary)
		s.Plan.Summary = diag.Shorten(s.Plan.Summary, maxSummary)
		left := maxChanges
		for i := range s.Plan.Changes {
			c := &s.Plan.Changes[i]
			hide(&c.Object, &c.Effect)
			for j := range c.Fields {
				hide(&c.Fields[j])
				c.Fields[j] = diag.Shorten(c.Fields[j], maxField)
			}
			for _, text := range append([]string{c.Object, c.Effect}, c.Fields...) {
				left -= len(text)
			}
			if left < 0 {
				s.Plan.Changes = s.Plan.Changes[:i]
				break
			}
		}
	}
	return o
}

// masked returns a Recorder that writes a status without secrets.
func (v Variables) masked(np *lkeplanv1alpha1.NodePlan, record Recorder) Recorder {
	return func(ctx context.Context) error {
		v.mask(np, outcome{})
		return record(ctx)
	}
}

// maxSummary is the maximum length of a plan's summary, in bytes.
const maxSummary = 1024

// maxField is the maximum length of a field in a planned change, and maxChanges that of all of
// them, in bytes.
const (
	maxField   = 512
	maxChanges = 100_000
)

// maxVerdict is the maximum length of a guard's message, in bytes: a policy can write any text, and
// the API server refuses a status that is too large.
const maxVerdict = 2048
