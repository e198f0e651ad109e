package testrun

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/lkeplan/lkeplan/config/diag"
)

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
	_, err := fmt.Fprintf(out, "%s: %d passed, %d failed\n", diag.Counted(len(r.Runs), "run"), r.Passed, r.Failed)
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
