package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// Saved is a plan against a cluster, written down with what it takes to carry
// it out: exactly what was shown is what is applied later, or nothing.
type Saved struct {
	FormatVersion string    `json:"format_version"`
	Version       string    `json:"lkeplan_version"`
	Made          time.Time `json:"made"`
	// Result is the configuration that the plan was made from, but for its guards:
	// they are those of what was last applied. No plan is judged by its own.
	compile.Result
	Before int `json:"before"` // objects that were last applied
	// BaseDirectory is the name of the directory in the base; "" if the base does not have it.
	BaseDirectory string `json:"base_directory,omitempty"`
	Prune         bool   `json:"prune"`
	// OtherCluster is the name of the cluster where that is not the directory's, and it is
	// meant all the same.
	OtherCluster string    `json:"other_cluster,omitempty"`
	Allowed      []string  `json:"allowed"`
	Plan         plan.Plan `json:"plan"`
}

// savedVersion is the version of the form. Another major one is not read.
const savedVersion = "1.0"

// Save puts a plan together with what it was made from.
func Save(head, lastApplied compile.Result, p plan.Plan, version string, prune bool, allowed []string,
	now time.Time) Saved {
	s := Saved{
		FormatVersion: savedVersion, Version: version, Made: now.UTC().Truncate(time.Second),
		Result: head, Before: len(lastApplied.Objects), Prune: prune, Allowed: allowed, Plan: p,
	}
	s.Guards, s.BaseDirectory = lastApplied.Guards, lastApplied.Directory
	return s
}

// Write writes the plan. Equal plans give equal bytes.
func (s Saved) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(s)
}

// ReadSaved reads what Write has written.
func ReadSaved(r io.Reader) (Saved, error) {
	var s Saved
	raw, err := readAll(r)
	if err != nil {
		return s, err
	}
	if err := utiljson.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("it is not a plan; make one with: lkeplan plan --out FILE (%w)", err)
	}
	if major, _, _ := strings.Cut(s.FormatVersion, "."); major != "1" || s.Made.IsZero() {
		return s, errors.New("it is not a plan that this lkeplan can read; make one with: lkeplan plan --out FILE")
	}
	return s, nil
}

// Judge has the guards that held when the plan was made judge it as it would be
// applied now: a freeze may have begun since, or there may be more nodes. Pods were
// simulated when it was made. Policies judged when it was made; what they refused then,
// and nobody allowed, stays refused. What was allowed then is for as many nodes as the plan
// touched: more of them need another permission.
func (s Saved) Judge(now *plan.Plan, permissions []string) error {
	now.Workloads = s.Plan.Workloads
	verdicts, err := now.Judge(plan.Bounds{Guards: s.Guards, Before: s.Before, After: len(s.Objects)})
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
	was, is := s.Plan.Summary().Touched(), now.Summary().Touched()
	if !was.Known || is.Known && is.Nodes <= was.Nodes {
		now.Reallow(s.Allowed)
	}
	return nil
}

// StaleError says how a cluster differs from what a plan was made for.
type StaleError struct{ Reasons []string }

// Error implements error.
func (e StaleError) Error() string {
	return "the cluster has changed since the plan was made, so nothing is applied; make a new plan:\n  " +
		strings.Join(e.Reasons, "\n  ")
}

// Fresh compares a plan with one that was made just now. What the earlier one
// has done already, in a run that was interrupted, is fine; everything else
// must be as it was, or the error is a StaleError.
func (s Saved) Fresh(now plan.Plan) error {
	planned := s.Plan.ByKey()
	var e StaleError
	for _, c := range now.Changes {
		if reason := staleness(planned[c.Key()], c); reason != "" {
			e.Reasons = append(e.Reasons, fmt.Sprintf("%s: %s", c.Key(), reason))
		}
	}
	if len(e.Reasons) > 0 {
		return e
	}
	return nil
}

// staleness says in what an object is not as it was planned for; "" where it is.
func staleness(planned, now plan.Change) string {
	switch {
	case now.Action == plan.Keep && len(now.Conflicts) == 0:
		return "" // its address or class has news, the object has not
	case planned.Action == "":
		return "it was as it should be, and no longer is" + difference(plan.Change{}, now)
	case planned.Action != now.Action && now.Action == plan.Create:
		return "it has been deleted"
	case planned.Action != now.Action && planned.Action == plan.Create:
		return "it did not exist, and somebody has created it"
	case planned.Action != now.Action:
		return fmt.Sprintf("it was to %s, and would %s now", becomes(planned.Action), becomes(now.Action))
	case planned.UID != now.UID:
		return "it has been deleted and created again"
	case now.Action == plan.Delete && now.Prune == plan.RemoveAtOnce && now.Effect == plan.DeleteNodes && planned.Prune != now.Prune:
		return "it was to give up its nodes first, and would go at once"
	}
	if text := difference(planned, now); text != "" {
		return "it is not as it was" + text
	}
	return ""
}

// becomes says what becomes of an object, after "it would".
func becomes(a plan.Action) string {
	switch a {
	case plan.Create:
		return "be created"
	case plan.Update:
		return "be updated"
	case plan.Delete:
		return "be deleted"
	case plan.Forget:
		return "be orphaned"
	}
	return "stay as it is"
}

// difference names the first field that changes in another way.
func difference(planned, now plan.Change) string {
	before := map[string]plan.Field{}
	for _, f := range planned.Fields {
		before[f.Path] = f
	}
	for _, f := range now.Fields {
		was, known := before[f.Path]
		if !known || jsonOf(was.Before) != jsonOf(f.Before) || jsonOf(was.After) != jsonOf(f.After) {
			return fmt.Sprintf(": %s is %s", f.Path, jsonOf(f.Before))
		}
		delete(before, f.Path)
	}
	for _, f := range planned.Fields {
		if _, left := before[f.Path]; left {
			return fmt.Sprintf(": %s is %s already", f.Path, jsonOf(f.After))
		}
	}
	for i, c := range now.Conflicts {
		if i >= len(planned.Conflicts) || planned.Conflicts[i] != c {
			return fmt.Sprintf(": %s has been set by %s", c.Path, c.Owner)
		}
	}
	return ""
}

// jsonOf writes a JSON value, equal ones alike.
func jsonOf(v any) string {
	if v == nil {
		return "not set"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
