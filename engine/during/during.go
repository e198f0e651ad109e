// Package during decides which values the during blocks of an object set at a time. The object has the values outside
// of all windows in its spec, and all values in an annotation (manifest.During): then it is in its declared form, which
// commits are compared in. At returns its form at a time, which is applied.
//
// It also reads and writes what has the form of a during block elsewhere: the schedules and durations of budgets, windows
// and freezes (timing.go).
//
// It is pure: it reads no clock and no cluster.
package during

import (
	"fmt"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// State is which windows are active at a time, and until when.
type State struct {
	Active []string  // names, sorted
	Since  time.Time // when the last of them started; zero if none is active
	// Next is when other windows are active. It is the zero time if that is not within a year, or there are no windows. It
	// can be earlier than that for a window that starts again and again while it is active: then it is a time to compute
	// it again.
	Next time.Time
}

// At returns an object with the values of a time. The object is not modified; without during blocks, the result is the
// same object. If two windows that set the same field are due, only the first by name is active: guards evaluate no other
// combination, and the compiler finds overlaps in some years only.
func At(object map[string]any, now time.Time) (map[string]any, State, error) {
	d, err := manifest.ReadDuring(object)
	if d == nil || err != nil {
		return object, State{}, err
	}
	windows, err := readAll(object, d)
	if err != nil {
		return object, State{}, err
	}
	s := stateAt(windows, now)
	return With(object, d, s.Active...), s, nil
}

func readAll(object map[string]any, d *manifest.During) (all []window, err error) {
	for _, w := range d.Windows {
		read, err := read(w)
		if err != nil {
			return nil, fmt.Errorf("read during block %q of %s: %w", w.Name, manifest.KeyOf(object), err)
		}
		all = append(all, read)
	}
	return all, nil
}

func stateAt(windows []window, now time.Time) State {
	s := State{}
	s.Active, s.Since = activeAt(windows, now)
	const turns = 1000 // a window that starts each minute may be active always
	at := now
	for range turns {
		next := time.Time{}
		for _, w := range windows {
			if t := w.turn(at); !t.IsZero() && (next.IsZero() || t.Before(next)) {
				next = t
			}
		}
		if next.IsZero() || next.After(now.AddDate(1, 0, 0)) {
			return s
		}
		if active, _ := activeAt(windows, next); !slices.Equal(active, s.Active) {
			s.Next = next
			return s
		}
		at = next
	}
	s.Next = at
	return s
}

// activeAt returns one of the Combinations, or none.
func activeAt(windows []window, now time.Time) (names []string, since time.Time) {
	taken := map[string]bool{}
	for _, w := range windows {
		start := w.start(now)
		conflict := false
		for path := range w.Set {
			conflict = conflict || taken[path]
		}
		if start.IsZero() || conflict {
			continue
		}
		names = append(names, w.Name)
		for path := range w.Set {
			taken[path] = true
		}
		if start.After(since) {
			since = start
		}
	}
	return names, since
}

// With returns an object with the values of windows, and outside of them with the values of its base.
func With(object map[string]any, d *manifest.During, active ...string) map[string]any {
	for _, path := range d.Paths() {
		value, found := d.Base[path]
		for _, w := range slices.Backward(d.Windows) {
			if set, sets := w.Set[path]; sets && slices.Contains(active, w.Name) {
				value, found = set, true
			}
		}
		object = manifest.WithField(object, path, value, found)
	}
	return object
}

// Combinations are the sets of windows that may be active at the same time: no two of a set set the same field. None of
// the sets is empty.
func Combinations(d *manifest.During) (sets [][]string) {
	if d == nil {
		return nil
	}
	for bits := 1; bits < 1<<len(d.Windows); bits++ {
		var names []string
		taken, conflict := map[string]bool{}, false
		for i, w := range d.Windows {
			if bits&(1<<i) == 0 {
				continue
			}
			names = append(names, w.Name)
			for path := range w.Set {
				conflict = conflict || taken[path]
				taken[path] = true
			}
		}
		if !conflict {
			sets = append(sets, names)
		}
	}
	return sets
}

// Same reports whether two values of the field at a path mean the same. It is a parameter because the CRD of the object
// decides that, which this package does not read.
type Same func(path string, a, b any) bool

// Declared returns a live object in its declared form. A field that has none of the values of the object's during
// blocks, or for which edited is true, keeps its value, and is in the list: another user has changed it.
func Declared(live map[string]any, same Same, edited func(path string) bool) (
	declared map[string]any, kept []string, err error) {
	d, err := manifest.ReadDuring(live)
	if d == nil || err != nil {
		return live, nil, err
	}
	declared = live
	for _, path := range d.Paths() {
		if edited(path) || !expected(live, d, path, same) {
			kept = append(kept, path)
			continue
		}
		value, found := d.Base[path]
		declared = manifest.WithField(declared, path, value, found)
	}
	return declared, kept, nil
}

// expected reports whether a field of a live object has one of the values of its during blocks.
func expected(live map[string]any, d *manifest.During, path string, same Same) bool {
	is, there := manifest.Field(live, path)
	base, set := d.Base[path]
	if !there || set && same(path, is, base) {
		return there || !set
	}
	return slices.ContainsFunc(d.Windows, func(w manifest.DuringWindow) bool {
		value, sets := w.Set[path]
		return sets && same(path, is, value)
	})
}

// Pending returns the fields of a live object that do not have the values of a time, of those that still have one of
// the values of its during blocks.
func Pending(live map[string]any, now time.Time, same Same, edited func(path string) bool) (
	due map[string]any, paths []string, s State, err error) {
	d, err := manifest.ReadDuring(live)
	if d == nil || err != nil {
		return live, nil, s, err
	}
	wanted, s, err := At(live, now)
	if err != nil {
		return live, nil, s, err
	}
	due = live
	for _, path := range d.Paths() {
		want, found := manifest.Field(wanted, path)
		is, there := manifest.Field(live, path)
		if there == found && (!there || same(path, is, want)) || !expected(live, d, path, same) || edited(path) {
			continue
		}
		due, paths = manifest.WithField(due, path, want, found), append(paths, path)
	}
	return due, paths, s, nil
}

// Cause returns the name of the active window that gives a live object the value of a field, and when it ends: the zero
// time if that is not within a year. The name is "" if no window does, or if the object has another value.
func Cause(live map[string]any, path string, now time.Time, same Same) (name string, until time.Time, err error) {
	d, err := manifest.ReadDuring(live)
	if d == nil || err != nil {
		return "", until, err
	}
	windows, err := readAll(live, d)
	if err != nil {
		return "", until, err
	}
	is, _ := manifest.Field(live, path)
	active, _ := activeAt(windows, now)
	for _, w := range windows {
		if value, sets := w.Set[path]; sets && slices.Contains(active, w.Name) {
			if !same(path, is, value) {
				return "", until, nil
			}
			return w.Name, stateAt([]window{w}, now).Next, nil
		}
	}
	return "", until, nil
}
