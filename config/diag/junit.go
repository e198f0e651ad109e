package diag

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// The parts of the JUnit format that CI systems read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		ClassName string         `xml:"classname,attr"`
		Name      string         `xml:"name,attr"`
		Failures  []junitFailure `xml:"failure,omitempty"`
		Out       string         `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// A Case is one test in a report. Errors fail it; warnings and notes are its output.
type Case struct {
	Class, Name string
	Diagnostics []Diagnostic
	Notes       []string
}

// JUnit writes diagnostics as a JUnit report: a test case for each of the files, and one named
// directory for messages without a file.
func JUnit(w io.Writer, diags []Diagnostic, files []string) error {
	var names []string
	for _, name := range files {
		names = append(names, OneLine(name))
	}
	about := map[string][]Diagnostic{}
	for _, d := range diags {
		name := ""
		if d.Range != nil {
			name = d.Range.Filename
			names = append(names, name)
		}
		about[name] = append(about[name], d)
	}
	slices.Sort(names)
	cases := []Case{{Class: ".", Name: "directory", Diagnostics: about[""]}}
	for _, name := range slices.Compact(names) {
		cases = append(cases, Case{Class: filepath.ToSlash(filepath.Dir(name)), Name: filepath.Base(name),
			Diagnostics: about[name]})
	}
	return JUnitCases(w, "lkeplan validate", cases)
}

// JUnitCases writes a report of one test suite.
func JUnitCases(w io.Writer, name string, cases []Case) error {
	suite := junitSuite{Name: name}
	for _, c := range cases {
		written := c.junit()
		suite.Cases = append(suite.Cases, written)
		suite.Tests++
		if len(written.Failures) > 0 {
			suite.Failures++
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Tests: suite.Tests, Failures: suite.Failures,
		Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (c Case) junit() junitCase {
	written := junitCase{ClassName: c.Class, Name: c.Name}
	for _, note := range c.Notes {
		written.Out += OneLine(note) + "\n"
	}
	for _, d := range c.Diagnostics {
		place := ""
		if d.Range != nil {
			place = fmt.Sprintf("%s:%d: ", d.Range.Filename, d.Range.Start.Line)
		}
		if d.Severity != "error" {
			written.Out += "Warning: " + place + d.text() + "\n"
			continue
		}
		text := place + d.text()
		if d.Snippet != nil {
			text += "\n" + OneLine(d.Snippet.Line)
		}
		written.Failures = append(written.Failures, junitFailure{Message: d.Summary, Type: d.Rule, Text: text})
	}
	written.Out = strings.TrimSpace(written.Out)
	return written
}
