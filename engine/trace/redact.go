package trace

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// New returns what replaces secrets by stars. The longest form is first, so that no end is
// left of one that begins like another.
func New(secrets []string) *strings.Replacer {
	var forms []string
	for _, secret := range secrets {
		forms = append(forms, spellings(secret)...)
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, "***")
	}
	return strings.NewReplacer(pairs...)
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
