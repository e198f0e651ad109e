package diag

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// The parts of JUnit's report that CI systems read.
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

// JUnit writes diagnostics as the report of a test: a test case for each of
// the files, and one named directory for what is about no file. Errors are
// failures; warnings are the output of a case that passes.
func JUnit(w io.Writer, diags []Diagnostic, files []string) error {
	var names []string
	for _, name := range files {
		names = append(names, OneLine(name))
	}
	for _, d := range diags {
		if d.Range != nil {
			names = append(names, d.Range.Filename)
		}
	}
	slices.Sort(names)
	names = append([]string{""}, slices.Compact(names)...)

	suite := junitSuite{Name: "lkeplan validate"}
	for _, name := range names {
		c := testCase(name, diags)
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
		if len(c.Failures) > 0 {
			suite.Failures++
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Tests: suite.Tests, Failures: suite.Failures, Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// testCase is the case of one file; "" stands for what is about none.
func testCase(name string, diags []Diagnostic) junitCase {
	c := junitCase{ClassName: filepath.ToSlash(filepath.Dir(name)), Name: filepath.Base(name)}
	if name == "" {
		c = junitCase{ClassName: ".", Name: "directory"}
	}
	for _, d := range diags {
		at, line := "", ""
		if d.Range != nil {
			at = d.Range.Filename
			line = fmt.Sprintf("%s:%d: ", d.Range.Filename, d.Range.Start.Line)
		}
		switch {
		case at != name:
		case d.Severity == "error":
			text := line + d.text()
			if d.Snippet != nil {
				text += "\n" + OneLine(d.Snippet.Line)
			}
			c.Failures = append(c.Failures, junitFailure{Message: d.Summary, Type: d.Rule, Text: text})
		default:
			c.Out += "Warning: " + line + d.text() + "\n"
		}
	}
	c.Out = strings.TrimSpace(c.Out)
	return c
}
