package gitops

import (
	"context"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/trace"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Variables are the values of a NodePlan, and the texts among them that must not
// be shown.
type Variables struct {
	Vars    []config.Var
	Secrets []string
}

// mask replaces secrets in an outcome, and in what a plan has written into the status.
// Values from Secrets are refused in objects and messages; this is for those that
// objects have from elsewhere. A text is cut after that: half a secret would not be
// found.
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

// masked returns what records a status without secrets.
func (v Variables) masked(np *lkeplanv1alpha1.NodePlan, record Recorder) Recorder {
	return func(ctx context.Context) error {
		v.mask(np, outcome{})
		return record(ctx)
	}
}

// maxSummary bounds a plan in a sentence, in bytes.
const maxSummary = 1024

// maxField bounds a field of a planned change, and maxChanges all of them, in bytes.
const (
	maxField   = 512
	maxChanges = 100_000
)

// maxVerdict bounds the message of a guard, in bytes: a policy may write anything,
// and a status that is too large is not written at all.
const maxVerdict = 2048
