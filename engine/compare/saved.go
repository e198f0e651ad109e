package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// Saved is a plan for a cluster with the input to apply it: later, exactly the shown plan is applied, or nothing.
type Saved struct {
	FormatVersion string    `json:"format_version"`
	Version       string    `json:"lkeplan_version"`
	Made          time.Time `json:"made"`
	// Result is the configuration of the plan. Its guards are those of the last applied configuration: no plan is
	// evaluated with its own guards.
	compile.Result
	Before int `json:"before"` // last applied objects
	// BaseDirectory is the name of the directory in the base; "" if the base does not have it.
	BaseDirectory string `json:"base_directory,omitempty"`
	Prune         bool   `json:"prune"`
	// OtherCluster is the name of the cluster if the user chose another one than the directory's.
	OtherCluster string    `json:"other_cluster,omitempty"`
	Allowed      []string  `json:"allowed"`
	Plan         plan.Plan `json:"plan"`
}

// savedVersion is the version of the format. Another version is refused.
const savedVersion = "2"

// Save joins a plan with its input.
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

// ReadSavedPlan reads a plan that was saved to a file.
func ReadSavedPlan(name string) (Saved, error) { return files.Read("plan", name, ReadSaved) }

// ReadSaved reads what Write has written. A member that this version does not know is an error: it could be something
// that an apply must respect.
func ReadSaved(r io.Reader) (s Saved, err error) {
	raw, err := readAll(r)
	if err != nil {
		return s, err
	}
	var format struct {
		Version string `json:"format_version"`
	}
	const create = "create one with: lkeplan plan --out FILE"
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &format); err != nil {
		return s, fmt.Errorf("it is not a plan; %s (%w)", create, err)
	}
	if format.Version != savedVersion {
		return s, fmt.Errorf("it is not a plan of the format version %s, which this lkeplan reads, but of %q; %s",
			savedVersion, format.Version, create)
	}
	unknown, err := kjson.UnmarshalStrict(raw, &s)
	if err := errors.Join(append(unknown, err)...); err != nil {
		return s, fmt.Errorf("it is not a plan; %s (%w)", create, err)
	}
	if s.Made.IsZero() {
		return s, errors.New("it is not a plan: \"made\" is missing; " + create)
	}
	return s, nil
}

// Judge evaluates the saved guards for the plan as it would be applied now: a freeze may have started, or there may
// be more nodes. Policies and pods were evaluated when the plan was created; a refusal of a policy stays, unless a
// permission lifted it. Saved permissions hold for the number of nodes that the plan touched then: more nodes need
// another permission.
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

// StaleError lists how a cluster differs from the cluster of a plan.
type StaleError struct{ Reasons []string }

// Error implements error.
func (e StaleError) Error() string {
	return "the cluster has changed since the plan was created, so nothing is applied; create a new plan"
}

// Fresh compares the saved plan with a new one. Changes that an interrupted run has already applied are fine; for any
// other difference the error is a StaleError.
func (s Saved) Fresh(now plan.Plan) error {
	planned := s.Plan.ByKey()
	var e StaleError
	for _, c := range now.Changes {
		if reason := describeStale(planned[c.Key()], c); reason != "" {
			e.Reasons = append(e.Reasons, fmt.Sprintf("%s: %s", c.Key(), reason))
		}
	}
	if len(e.Reasons) > 0 {
		return e
	}
	return nil
}

// describeStale describes how an object differs from the plan; "" if it does not.
func describeStale(planned, now plan.Change) string {
	switch {
	case now.Action == plan.Keep && len(now.Conflicts) == 0:
		return "" // only its address or class has changed
	case now.Action == plan.Create && planned.Action != plan.Create:
		return "it has been deleted"
	case planned.Action == "":
		return "it needed no change when the plan was created, and needs one now" + firstDifference(plan.Change{}, now)
	case planned.Action != now.Action && planned.Action == plan.Create:
		return "it did not exist, and has been created"
	case planned.Action != now.Action:
		return fmt.Sprintf("it would %s when the plan was created, and would %s now", actionText(planned.Action), actionText(now.Action))
	case planned.UID != now.UID:
		return "it has been deleted and created again"
	case now.Action == plan.Delete && now.Prune == plan.RemoveAtOnce && now.Effect == plan.DeleteNodes && planned.Prune != now.Prune:
		return "it would drain its nodes first, and would be deleted immediately now"
	}
	if text := firstDifference(planned, now); text != "" {
		return "it has changed" + text
	}
	return ""
}

// actionText returns the action on an object as the end of "it would ...", for the reasons why a saved plan is
// stale.
func actionText(a plan.Action) string {
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
	return "not be changed"
}

// firstDifference names the first field that changes in a different way.
func firstDifference(planned, now plan.Change) string {
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
			return fmt.Sprintf(": %s is already %s", f.Path, jsonOf(f.After))
		}
	}
	for i, c := range now.Conflicts {
		if i >= len(planned.Conflicts) || planned.Conflicts[i] != c {
			return fmt.Sprintf(": %s has been set by %s", c.Path, c.Owner)
		}
	}
	return ""
}

// jsonOf writes a value as JSON.
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
