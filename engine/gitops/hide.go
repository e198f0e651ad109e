package gitops

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Variables are the values of a NodePlan, and which of them must not be shown.
type Variables struct {
	Vars    []config.Var
	Secrets []string
}

// mask replaces what must not be shown in an outcome, and in what guards and
// policies say in the status. Only then may a text be cut: half a secret is not
// found.
func (v Variables) mask(np *lkeplanv1alpha1.NodePlan, o outcome) outcome {
	hidden := strings.NewReplacer(v.pairs()...)
	o.message, o.event, o.corrected = hidden.Replace(o.message), hidden.Replace(o.event), hidden.Replace(o.corrected)
	np.Status.Guards = np.Status.Guards[:min(len(np.Status.Guards), mostListed)]
	for i := range np.Status.Guards {
		np.Status.Guards[i].Message = shorten(hidden.Replace(np.Status.Guards[i].Message), maxVerdict)
	}
	return o
}

// maxVerdict bounds what a guard says, in bytes: a policy may say anything, and
// a status that is too large is not written at all.
const maxVerdict = 2048

// pairs are what must not be shown and what stands for it, the longest first, so
// that nothing is left of one that begins like another.
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

// Texts that are shorter say nothing, and are in every message. Lines are parts
// of a secret, and common ones are longer.
const (
	shortestSecret = 4
	shortestLine   = 8
)

// spellings are how a secret may stand in a text: as it is, without the end of
// line that files have, line by line, and each of them in quotes.
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
