package simreport_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/engine/simreport"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

// hostile is a simulation whose workloads, pools and notes are called like markup.
func hostile() simulate.Report {
	const name = "</title><script>alert(1)</script> @everyone `x` |a| [l](javascript:1) \"'\u202e"
	result := simulate.Result{
		Asked: 400, Placed: 300, Refused: 100,
		Refusals: []simulate.Refusal{{Workload: name, Pods: 100, Reasons: []simulate.Reason{{Pool: name, Text: name}}}},
		Notes:    []string{name},
		Plans:    []simulate.Plan{{Pool: name, Plan: name, Nodes: 300, Pods: 300}},
	}
	for i := range 300 {
		result.Nodes = append(result.Nodes, simulate.Node{
			Pool: name, Plan: name, CPU: simulate.Use{Requested: int64(i), Allocatable: 1 + int64(i%7)*1000},
			Memory: simulate.Use{Requested: 1 << 62, Allocatable: 0},
			Pods:   []simulate.Share{{Workload: name + strings.Repeat("x", i), Pods: 1, CPU: int64(i) - 20}},
		})
	}
	before := result
	return simulate.NewReport(name, name, result, &before)
}

// TestNamesAreEscaped: with any names, the drawing is well formed, runs nothing and requests
// nothing, and a comment mentions no user.
func TestNamesAreEscaped(t *testing.T) {
	drawing, err := simreport.Picture(hostile())
	if err != nil {
		t.Fatal(err)
	}
	page := string(drawing)
	for _, bad := range []string{"<script", "http:", "https:", "url(", "<img", "<link", "ZgotmplZ", "\u202e"} {
		if strings.Contains(page, bad) {
			t.Errorf("the drawing has %s", bad)
		}
	}
	elements(t, page)
	comment := simreport.Markdown(hostile())
	if strings.Contains(comment, "\u202e") {
		t.Error("the comment has a character that cannot be seen")
	}
	for line := range strings.Lines(comment) {
		bare := line
		for strings.Contains(bare, "``") { // code spans of names with backquotes
			_, after, _ := strings.Cut(bare, "``")
			_, rest, closed := strings.Cut(after, "``")
			if !closed {
				t.Errorf("a code span is not closed: %s", line)
				break
			}
			before, _, _ := strings.Cut(bare, "``")
			bare = before + rest
		}
		if strings.ContainsAny(bare, "@[") || strings.Contains(bare, "<script") {
			t.Errorf("a name is markup: %s", bare)
		}
	}
}

// elements holds that the elements of a drawing are closed.
func elements(t *testing.T, drawing string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(drawing))
	d.Entity = xml.HTMLEntity
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the drawing is not well formed: %v", err)
		}
	}
}

// TestBarsStayInTheirBoxes: however much pods ask for.
func TestBarsStayInTheirBoxes(t *testing.T) {
	drawing, err := simreport.Picture(hostile())
	if err != nil {
		t.Fatal(err)
	}
	page := string(drawing)
	for _, bad := range []string{`y="-`, `height="-`, "NaN", "Inf"} {
		if strings.Contains(page, bad) {
			t.Errorf("the drawing has %s", bad)
		}
	}
}
