// Package testrun tries the runs of a directory's tests: it compiles the directory for each,
// simulates the pods that the run names, compares with the base that it names, and has the
// assertions judged.
//
// It prints nothing, and asks no cluster.
package testrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/text"
)

// A Directory is what is tested.
type Directory struct {
	FS      fs.FS
	Options compile.Options
	// Commit compiles the directory as a commit has it.
	Commit func(ctx context.Context, ref, cluster string, opts compile.Options) (compile.Result, hcl.Diagnostics, error)
}

// A Status is how a run ends.
type Status string

// The statuses. A run in Error was not judged: what it needs is missing or wrong.
const (
	Passed Status = "pass"
	Failed Status = "fail"
	Error  Status = "error"
)

// An Outcome is what has come of a run.
type Outcome struct {
	Run         config.Run
	Status      Status
	Diagnostics hcl.Diagnostics      // errors only; none where it has passed
	Files       map[string]*hcl.File // for showing them
	Notes       []string             // what of its pods does not count
}

// Try tries one run.
func Try(ctx context.Context, d Directory, r config.Run) Outcome {
	t := &trying{Directory: d, run: r}
	t.Options.Run = &r
	head, diags := compile.Dir(ctx, d.FS, t.Options)
	t.outcome = Outcome{Run: r, Status: Error, Files: head.Files, Diagnostics: errorsOf(diags)}
	if r.ExpectError != "" {
		return t.expect()
	}
	if diags.HasErrors() {
		return t.outcome
	}
	t.head = head
	known, ok := t.known(ctx)
	if !ok {
		return t.outcome
	}
	t.outcome.Status = Passed
	t.outcome.Diagnostics = head.Trial.Judge(known)
	if t.outcome.Diagnostics.HasErrors() {
		t.outcome.Status = Failed
	}
	return t.outcome
}

func errorsOf(diags hcl.Diagnostics) (errors hcl.Diagnostics) {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			errors = append(errors, d)
		}
	}
	return errors
}

// trying is one run that is being tried.
type trying struct {
	Directory
	run      config.Run
	head     compile.Result
	prices   *catalog.Catalog
	snapshot *compare.Snapshot
	at       time.Time
	// uncounted is that it is not known which nodes the change replaces: the version of some is
	// not known.
	uncounted bool
	outcome   Outcome
}

// expect judges a run whose directory must not compile.
func (t *trying) expect() Outcome {
	found := t.outcome.Diagnostics
	for _, d := range found {
		if strings.Contains(d.Summary+": "+d.Detail, t.run.ExpectError) {
			t.outcome.Status, t.outcome.Diagnostics = Passed, nil
			return t.outcome
		}
	}
	t.outcome.Status = Failed
	detail := "The directory compiles."
	if len(found) > 0 {
		detail = "The directory does not compile, but with other errors, which follow."
	}
	t.outcome.Diagnostics = append(hcl.Diagnostics{diag.At("Expected error is missing",
		fmt.Sprintf("No error says %q. %s", t.run.ExpectError, detail), t.run.ExpectRange)}, found...)
	return t.outcome
}

// fail ends a run because of what it names.
func (t *trying) fail(summary string, err error) bool {
	t.outcome.Diagnostics = append(t.outcome.Diagnostics,
		diag.At(summary, strings.TrimSuffix(err.Error(), ".")+".", t.run.SourceRange))
	return false
}

// known returns what assertions know apart from the directory's own names.
func (t *trying) known(ctx context.Context) (known map[string]eval.Root, ok bool) {
	if err := t.read(); err != nil {
		return nil, t.fail("Cannot start the run", err)
	}
	known = map[string]eval.Root{
		"objects": {Node: objectsNode(t.head.Objects)},
		"plan": {Absent: "The name plan needs a base to compare with, and the run has none. Add a base to the run, such as " +
			"base = \"git:origin/main\"."},
		"simulate": {Absent: "The run simulates no pods. Add pods to the run, such as pods = [\"40x1cpu,2Gi\"]."},
	}
	alone, err := compare.Revisions(ctx, compile.Result{}, t.head, t.prices, t.at)
	if err != nil {
		return nil, t.fail("Cannot compute the cost", err)
	}
	known["cost"] = eval.Root{Value: costValue(alone), Nulls: map[string]string{}}
	for name, why := range alone.NullReasons() {
		known["cost"].Nulls[strings.TrimPrefix(name, "cost.")] = why
	}
	if t.hasPods() || t.run.Base == "" && t.snapshot != nil {
		if alone.After.FloorUnknown {
			return nil, t.fail("Cannot simulate the pods", errors.New("a pool with replicas allows only plan types whose price or size "+
				"is unknown, so its nodes are not simulated; to update the catalogue, run \"lkeplan catalog refresh\""))
		}
		result, err := t.simulate(ctx, t.head)
		if err != nil {
			return nil, t.fail("Cannot simulate the pods", err)
		}
		known["simulate"] = eval.Root{Value: simulationValue(result, t.head.Objects)}
	}
	if t.run.Base == "" {
		return known, true
	}
	change, ok := t.compare(ctx)
	known["plan"] = eval.Root{Value: planValue(change, t.uncounted), Nulls: change.NullReasons()}
	return known, ok
}

// read reads what both comparison and simulation need.
func (t *trying) read() (err error) {
	if t.prices, err = t.head.Prices(); err != nil {
		return err
	}
	if t.run.Snapshot != "" {
		name, err := t.path(t.run.Snapshot)
		if err != nil {
			return err
		}
		file, err := t.FS.Open(name)
		if err != nil {
			return fmt.Errorf("snapshot %s: %w", t.run.Snapshot, files.Cause(err))
		}
		defer file.Close()
		snapshot, err := compare.ReadSnapshot(file)
		if err != nil {
			return fmt.Errorf("snapshot %s: %w", t.run.Snapshot, files.Cause(err))
		}
		t.snapshot, t.at = &snapshot, snapshot.Taken
	}
	if t.run.At != "" {
		if t.at, err = time.Parse(time.RFC3339, t.run.At); err != nil {
			return fmt.Errorf("at = %q: use the form 2026-11-20T17:00:00Z", t.run.At)
		}
	}
	return nil
}

// Report is the outcomes of the runs of a directory, in the order in which they stand in its
// files. Its JSON is part of the command line's interface.
type Report struct {
	Directory string   `json:"directory"`
	Runs      []Result `json:"runs"`
	Passed    int      `json:"passed"`
	Failed    int      `json:"failed"` // those in error, too
}

// Result is one outcome for people and programs.
type Result struct {
	File        string            `json:"file"`
	Line        int               `json:"line"`
	Name        string            `json:"name"`
	Status      Status            `json:"status"`
	Diagnostics []diag.Diagnostic `json:"diagnostics"`
	Notes       []string          `json:"notes"` // what of its pods does not count
}

// NewReport makes the report.
func NewReport(dir string, outcomes []Outcome) Report {
	r := Report{Directory: dir, Runs: []Result{}}
	for _, o := range outcomes {
		if o.Status == Passed {
			r.Passed++
		} else {
			r.Failed++
		}
		r.Runs = append(r.Runs, Result{
			File: diag.OneLine(o.Run.Range.Filename), Line: o.Run.Range.Start.Line, Name: diag.OneLine(o.Run.Name),
			Status: o.Status, Diagnostics: diag.New(o.Diagnostics, o.Files), Notes: append([]string{}, o.Notes...),
		})
	}
	return r
}

// Text writes the report for people: to out a line for each run, and to errors what is
// wrong with those that have not passed.
func (r Report) Text(out, errors io.Writer, color bool) error {
	file := ""
	for _, run := range r.Runs {
		if run.File != file {
			file = run.File
			fmt.Fprintln(out, diag.Harmless(file))
		}
		fmt.Fprintf(out, "  %-5s  %s\n", run.Status, diag.Harmless(run.Name))
		for _, note := range run.Notes {
			fmt.Fprintf(out, "         %s\n", diag.Harmless(note))
		}
	}
	for _, run := range r.Runs {
		if run.Status == Passed {
			continue
		}
		fmt.Fprintf(errors, "%s: %s:%d, run %q\n\n", run.Status, diag.Harmless(run.File), run.Line, run.Name)
		if err := diag.Text(errors, run.Diagnostics, color); err != nil {
			return err
		}
	}
	broken := 0 // in Error
	for _, run := range r.Runs {
		if run.Status == Error {
			broken++
		}
	}
	sentence := fmt.Sprintf("%s: %d passed, %d failed", text.Count(len(r.Runs), "run"), r.Passed, r.Failed-broken)
	if broken > 0 {
		sentence += ", " + text.Count(broken, "error")
	}
	_, err := fmt.Fprintln(out, sentence)
	return err
}

// JUnit writes the report as CI systems read it: a test case for each run.
func (r Report) JUnit(w io.Writer) error {
	var cases []diag.Case
	for _, run := range r.Runs {
		cases = append(cases, diag.Case{
			Class: filepath.ToSlash(run.File), Name: run.Name, Diagnostics: run.Diagnostics, Notes: run.Notes,
		})
	}
	return diag.JUnitCases(w, "lkeplan test", cases)
}
