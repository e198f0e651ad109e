package diag_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// formats are the formats for programs, by the name of their golden file.
var formats = map[string]func(io.Writer, []diag.Diagnostic) error{
	"json":   func(w io.Writer, d []diag.Diagnostic) error { return diag.JSON(w, d) },
	"github": diag.GitHub,
	"gitlab": func(w io.Writer, diags []diag.Diagnostic) error { return diag.CodeQuality(w, diags, nil) },
	"sarif":  func(w io.Writer, diags []diag.Diagnostic) error { return diag.SARIF(w, diags, "1.2.3") },
	"junit": func(w io.Writer, diags []diag.Diagnostic) error {
		return diag.JUnit(w, diags, []string{"fine.lke.hcl"})
	},
}

type ruled struct{}

func (ruled) DiagnosticRule() string { return "matches-no-plan" }

// messages has one message of each kind, with text that controls its reader.
func messages(t *testing.T) []diag.Diagnostic {
	t.Helper()
	e, files := found(t, "each.value + local.x")
	e.Detail = "First, 100%:\r\n::error file=x::gotcha\n]]></failure><script>\x1b[31m"
	w, _ := found(t, "\"ü\"")
	w.Severity, w.Summary, w.Extra = hcl.DiagWarning, "Matches no plan, nowhere: never", ruled{}
	nowhere := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "No configuration files", Detail: "##[error]None."}
	elsewhere := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Bad", Detail: "Spans lines.", Subject: &hcl.Range{
		Filename: "a b/x,y:z%.lke.hcl", Start: hcl.Pos{Line: 2, Column: 3}, End: hcl.Pos{Line: 4, Column: 1},
	}}
	return diag.New(hcl.Diagnostics{nowhere, w, elsewhere, e}, files)
}

func TestFormats(t *testing.T) {
	for name, write := range formats {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got, messages(t)); err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/"+name+".golden", got.Bytes())
		})
	}
}

// TestEmpty checks that a report without messages is a complete document.
func TestEmpty(t *testing.T) {
	for name, write := range formats {
		var got bytes.Buffer
		if err := write(&got, diag.New(nil, nil)); err != nil {
			t.Fatal(err)
		}
		switch text := got.String(); name {
		case "github":
			if text != "" {
				t.Errorf("github: got %q", text)
			}
		case "junit":
			wellFormed(t, got.Bytes())
		default:
			if !json.Valid(got.Bytes()) || strings.Contains(text, "null") {
				t.Errorf("%s: got %s", name, text)
			}
		}
	}
}

// FuzzFormats checks that no text in a message breaks out of the document.
func FuzzFormats(f *testing.F) {
	f.Add("main.lke.hcl", "Bad", "It is bad.")
	f.Add("x::y,z%", "a\r\n::error::b", "\n::stop-commands::x\n##[group]")
	f.Add("a##[group]b", "a ##[error]b", "a ##[set-output name=a]b")
	f.Add("]]>&<\x00", "\"'<!--", "\xff\u202e\u2028")
	f.Fuzz(func(t *testing.T, file, summary, detail string) {
		body, _ := hclsyntax.ParseConfig([]byte(detail), file, hcl.InitialPos)
		model := diag.New(hcl.Diagnostics{{
			Severity: hcl.DiagError, Summary: summary, Detail: detail,
			Subject: &hcl.Range{Filename: file, Start: hcl.InitialPos,
				End: hcl.Pos{Line: 1, Column: len(detail), Byte: len(detail)}},
		}}, map[string]*hcl.File{file: body})
		for name, write := range formats {
			var got bytes.Buffer
			if err := write(&got, model); err != nil {
				t.Fatal(err)
			}
			switch name {
			case "github":
				if n := strings.Count(got.String(), "\n"); n != 1 || strings.Contains(got.String(), "\r") ||
					!strings.HasPrefix(got.String(), "::error ") {
					t.Errorf("github: got %q", got.String())
				}
			case "junit":
				if n := wellFormed(t, got.Bytes()); n != 1 {
					t.Errorf("junit: %d failures in %s", n, got.String())
				}
			default:
				if !json.Valid(got.Bytes()) {
					t.Errorf("%s: got %s", name, got.String())
				}
			}
		}
		var text bytes.Buffer
		if err := diag.Text(&text, model, false); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "::") || strings.Contains(line, "##[") || strings.ContainsRune(line, '\x1b') {
				t.Errorf("text: got %q", line)
			}
		}
	})
}

// wellFormed parses an XML document and returns the number of failures in it.
func wellFormed(t *testing.T, doc []byte) (failures int) {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(doc))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return failures
		}
		if err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "failure" {
			failures++
		}
	}
}
