package simreport

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/report"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed section.html
	sectionHTML string
)

// view is what the page shows. All of it is text, which the template escapes.
type view struct {
	Policy   string
	CSS      template.CSS // ours
	Tone     string
	Target   string
	Base     string
	Headline string
	section
}

// section is the part of a page that a simulation is.
type section struct {
	Keys     []key
	Pictures []picture
	Head     []string // the first row of the table
	Rows     [][]string
	New      []simulate.Share
	Refused  string
	Later    string // what Karpenter makes of the nodes
	Result   simulate.Result
}

// HTML writes a simulation as one page that needs nothing else: no script, no font, no
// image, no request. Its policy lets a browser load nothing.
func HTML(w io.Writer, r simulate.Report) error {
	v := view{
		Policy: report.ContentPolicy(), CSS: template.CSS(report.CSS()), Tone: "good", Target: r.Target,
		Headline: headline(r), section: sectionOf(r),
	}
	if r.Before != nil {
		v.Base = r.Base
	}
	if r.Head.Refused > 0 {
		v.Tone = "bad"
	}
	page, err := executed("page", v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, page)
	return err
}

// Picture is the nodes of a simulation as a part of another page, in elements that the
// style sheet of reports knows.
func Picture(r simulate.Report) (template.HTML, error) {
	text, err := executed("drawing", sectionOf(r))
	return template.HTML(text), err // the template has escaped it
}

// executed is a template with a view in it, in which nothing is hidden.
func executed(name string, view any) (string, error) {
	page, err := template.New("section").Parse(sectionHTML)
	if err == nil {
		page, err = page.New("page").Parse(pageHTML)
	}
	if err != nil {
		return "", fmt.Errorf("parse the page: %w", err)
	}
	var b strings.Builder
	err = page.ExecuteTemplate(&b, name, view)
	return diag.Visible(b.String()), err
}

func sectionOf(r simulate.Report) section {
	results := []*simulate.Result{&r.Head}
	if r.Before != nil {
		results = append(results, r.Before)
	}
	d, keys := drawingOf(results...)
	rows := r.Table()
	for i := range rows {
		rows[i] = slices.Clone(rows[i])
		for j := range rows[i] {
			rows[i][j] = strings.ReplaceAll(rows[i][j], " -> ", " → ")
		}
	}
	s := section{Keys: keys, Head: rows[0], Rows: rows[1:], New: r.New, Result: r.Head, Later: r.Afterwards()}
	if r.Before != nil {
		s.Pictures = []picture{d.picture("Before", *r.Before), d.picture("After", r.Head)}
	} else {
		s.Pictures = []picture{d.picture("Nodes", r.Head)}
	}
	if r.Head.Refused > 0 {
		s.Refused = fmt.Sprintf("%d of %s", r.Head.Refused, pods(r.Head.Asked))
	}
	return s
}
