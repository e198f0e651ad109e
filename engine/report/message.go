package report

import (
	"iter"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Message is one thing that a report says. The types below are all there are.
type Message interface{ message() }

// The messages, in the order in which they come. There is one Begin and one
// Summary, and any number of the others.
type (
	// Begin says what is compared with what.
	Begin struct {
		Base, Head plan.Revision
		Now        time.Time // when the cluster and the budgets were looked at; zero: they were not
	}
	// Diagnostic is what compiling the head complained of.
	Diagnostic struct{ diag.Diagnostic }
	// Change is what happens to one object. They are sorted by address.
	Change struct{ plan.Change }
	// Migration is how a pool becomes another object and keeps its nodes.
	Migration struct{ plan.Migration }
	// Drift is what others did to one field of a live object.
	Drift struct{ plan.Drift }
	// Verdict is what a guard or a policy says.
	Verdict struct{ plan.Verdict }
	// Note says what could not be looked at.
	Note struct{ Text string }
	// Summary sums it all up.
	Summary struct {
		plan.Summary
		Before, After plan.Cost // of all pools together
		Current       *catalog.Money
		Changed       bool     // there is any change
		Refused       []string // by which guards and policies
		Passed        int      // guards and policies that have nothing to say
		Digest        string
		ExitCode      int
	}
)

func (Begin) message()      {}
func (Diagnostic) message() {}
func (Change) message()     {}
func (Migration) message()  {}
func (Drift) message()      {}
func (Verdict) message()    {}
func (Note) message()       {}
func (Summary) message()    {}

// Messages is the report as a stream. It can be read any number of times.
func (r Report) Messages() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		_ = yield(Begin{r.Base, r.Head, r.Now}) &&
			each(yield, r.Diagnostics, func(d diag.Diagnostic) Message { return Diagnostic{d} }) &&
			each(yield, r.Changes, func(c plan.Change) Message { return Change{c} }) &&
			each(yield, r.Migrations, func(m plan.Migration) Message { return Migration{m} }) &&
			each(yield, r.Plan.Drift, func(d plan.Drift) Message { return Drift{d} }) &&
			each(yield, r.Verdicts, func(v plan.Verdict) Message { return Verdict{v} }) &&
			each(yield, r.Notes, func(text string) Message { return Note{text} }) &&
			yield(Summary{
				Summary: r.Summary(), Before: r.Before, After: r.After, Current: r.Current,
				Changed: !r.Empty(), Refused: r.refusing(), Passed: r.passed(), Digest: r.Digest, ExitCode: r.ExitCode,
			})
	}
}

// refusing are the guards and policies that block the plan.
func (r Report) refusing() (names []string) {
	for _, v := range r.Verdicts {
		if v.Status == plan.Blocked && !slices.Contains(names, v.Guard) {
			names = append(names, v.Guard)
		}
	}
	return names
}

func (r Report) passed() (n int) {
	for _, v := range r.Verdicts {
		if v.Status == plan.Passed {
			n++
		}
	}
	return n
}

// each yields a message for each element, and reports whether to go on.
func each[T any](yield func(Message) bool, list []T, message func(T) Message) bool {
	for _, element := range list {
		if !yield(message(element)) {
			return false
		}
	}
	return true
}

// whole is a stream that has been read to its end, for formats that begin with
// the summary.
type whole struct {
	Begin
	diagnostics []Diagnostic
	changes     []Change
	migrations  []Migration
	drift       []Drift
	verdicts    []Verdict
	notes       []Note
	sum         Summary
}

func read(messages iter.Seq[Message]) (all whole) {
	for m := range messages {
		switch m := m.(type) {
		case Begin:
			all.Begin = m
		case Diagnostic:
			all.diagnostics = append(all.diagnostics, m)
		case Change:
			all.changes = append(all.changes, m)
		case Migration:
			all.migrations = append(all.migrations, m)
		case Drift:
			all.drift = append(all.drift, m)
		case Verdict:
			all.verdicts = append(all.verdicts, m)
		case Note:
			all.notes = append(all.notes, m)
		case Summary:
			all.sum = m
		}
	}
	return all
}
