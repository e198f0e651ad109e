package gitops

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
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
	hidden := strings.NewReplacer(v.pairs()...)
	hide := func(texts ...*string) {
		for _, text := range texts {
			*text = hidden.Replace(*text)
		}
	}
	hide(&o.message, &o.event, &o.corrected)
	s := &np.Status
	s.Guards = s.Guards[:min(len(s.Guards), mostListed)]
	for i := range s.Guards {
		hide(&s.Guards[i].Message, &s.Guards[i].Address)
		s.Guards[i].Message = shorten(s.Guards[i].Message, maxVerdict)
	}
	for i := range s.Drift {
		hide(&s.Drift[i].Object, &s.Drift[i].Path)
	}
	for i := range s.Pools {
		hide(&s.Pools[i].Name)
	}
	if s.Plan != nil {
		hide(&s.Plan.Summary)
		s.Plan.Summary = shorten(s.Plan.Summary, maxSummary)
	}
	return o
}

// maxSummary bounds a plan in a sentence, in bytes.
const maxSummary = 1024

// maxVerdict bounds the message of a guard, in bytes: a policy may write anything,
// and a status that is too large is not written at all.
const maxVerdict = 2048

// pairs are the forms of the secrets, each followed by its replacement. The longest
// is first, so that no end is left of one that begins like another.
func (v Variables) pairs() (pairs []string) {
	var forms []string
	for _, secret := range v.Secrets {
		forms = append(forms, spellings(secret)...)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, "***")
	}
	return pairs
}

// The lengths from which texts are replaced, in bytes. Shorter ones are in every
// message. A line is only a part of a secret, and short lines are common.
const (
	shortestSecret = 4
	shortestLine   = 8
)

// spellings are the forms of a secret in a text: as it is, without the line break
// at the end, line by line, and each of them in quotes.
func spellings(secret string) (forms []string) {
	add := func(text string, shortest int) {
		if len(text) < shortest {
			return
		}
		forms = append(forms, text)
		if quoted, err := json.Marshal(text); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
	}
	add(secret, shortestSecret)
	add(strings.TrimSpace(secret), shortestSecret)
	if strings.Contains(strings.TrimSpace(secret), "\n") {
		for line := range strings.Lines(secret) {
			add(strings.TrimSpace(line), shortestLine)
		}
	}
	return forms
}
