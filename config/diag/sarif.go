package diag

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// fields are the fields of a JSON object.
type fields = map[string]any

// SARIF writes diagnostics in the Static Analysis Results Interchange Format, for code scanning: the
// parts of SARIF 2.1.0 that it reads. version is the version of the program.
func SARIF(w io.Writer, diags []Diagnostic, version string) error {
	summaries := map[string]string{} // by rule
	for _, d := range diags {
		summaries[d.Rule] = cmp.Or(summaries[d.Rule], d.Summary)
	}
	names := slices.Sorted(maps.Keys(summaries))
	rules := []fields{}
	for _, name := range names {
		rules = append(rules, fields{"id": name, "shortDescription": fields{"text": summaries[name]}})
	}
	results := []fields{}
	seen := map[string]int{}
	for _, d := range diags {
		results = append(results, fields{
			"ruleId":              d.Rule,
			"ruleIndex":           slices.Index(names, d.Rule),
			"level":               d.Severity,
			"message":             fields{"text": d.text()},
			"locations":           []fields{{"physicalLocation": d.physical()}},
			"partialFingerprints": fields{"lkeplan/v1": d.fingerprint(seen)},
		})
	}
	driver := fields{"name": "lkeplan", "informationUri": "https://github.com/lkeplan/lkeplan", "rules": rules}
	if version != "" {
		driver["version"] = version
	}
	return JSON(w, fields{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs":    []fields{{"tool": fields{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}},
	})
}

// text returns the complete message on one line.
func (d Diagnostic) text() string {
	text := strings.Join(strings.Fields(d.Detail), " ")
	if text == "" {
		return d.Summary
	}
	return d.Summary + ": " + text
}

// physical returns the place of the message. Code scanning rejects a result without a place, so a
// message without a file is about the directory.
func (d Diagnostic) physical() fields {
	at := d.Range
	if at == nil {
		return fields{"artifactLocation": fields{"uri": "."}}
	}
	line, column := max(1, at.Start.Line), max(1, at.Start.Column)
	region := fields{"startLine": line, "startColumn": column, "endLine": max(line, at.End.Line), "endColumn": max(1, at.End.Column)}
	if s := d.Snippet; s != nil {
		region["snippet"] = fields{"text": OneLine(s.Line)}
		region["startColumn"] = 1 + utf8.RuneCountInString(s.Line[:s.start])
		if at.Start.Line == at.End.Line {
			region["endColumn"] = 1 + utf8.RuneCountInString(s.Line[:s.end])
		}
	}
	path := filepath.ToSlash(at.Filename)
	uri := url.URL{Path: path}
	if strings.HasPrefix(path, "/") {
		uri.Scheme = "file"
	}
	return fields{"artifactLocation": fields{"uri": uri.String()}, "region": region}
}

// fingerprint does not change if a message moves to another line.
func (d Diagnostic) fingerprint(seen map[string]int) string {
	parts := []string{d.Rule, cmp.Or(d.Key, d.Detail)}
	if d.Range != nil {
		parts = append(parts, d.Range.Filename)
	}
	if d.Snippet != nil {
		parts = append(parts, d.Snippet.Context, strings.TrimSpace(d.Snippet.Line))
	}
	key := strings.Join(parts, "\x00")
	seen[key]++
	sum := sha256.Sum256([]byte(key + strings.Repeat("\x00", seen[key])))
	return hex.EncodeToString(sum[:12])
}
