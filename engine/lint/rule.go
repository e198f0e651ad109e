package lint

import (
	"slices"
	"strings"
)

// A Rule is one kind of finding, with its explanation.
type Rule struct {
	Name    string // as in "lkeplan:ignore NAME"
	Title   string // the summary of a finding
	Fatal   bool   // a finding is an error, which cannot be silenced
	Catalog bool   // a finding is an error if the catalogue is current
	Note    bool   // a finding is never an error, even if warnings are
	Pods    bool   // package podlint checks it if there are pods
	What    string // what is found, in one line
	Why     string // what happens
	Do      string // what to do about it
	Example string // a correct document, or ""

	// One of these finds it; neither for pods.
	pool func(*checker, *pool) // called for each pool
	find func(*checker)
}

// Rules returns every rule, sorted by name.
func Rules() []Rule {
	all := slices.Concat(refusals(), lints(), aboutPods())
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Lookup returns the rule of that name.
func Lookup(name string) (Rule, bool) {
	all := Rules()
	i := slices.IndexFunc(all, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		return Rule{}, false
	}
	return all[i], true
}

// Titles returns the rules' titles by name.
func Titles() map[string]string {
	titles := map[string]string{}
	for _, rule := range Rules() {
		titles[rule.Name] = rule.Title
	}
	return titles
}
