package diag

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// The parts of SARIF 2.1.0 that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn"`
		EndLine     int        `json:"endLine"`
		EndColumn   int        `json:"endColumn"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
)

// SARIF writes diagnostics in the Static Analysis Results Interchange Format, for code scanning.
// version is the version of the program.
func SARIF(w io.Writer, diags []Diagnostic, version string) error {
	rules := []sarifRule{}
	for _, d := range diags {
		rules = append(rules, sarifRule{ID: d.Rule, ShortDescription: sarifText{d.Summary}})
	}
	slices.SortStableFunc(rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	rules = slices.CompactFunc(rules, func(a, b sarifRule) bool { return a.ID == b.ID })

	results := []sarifResult{}
	seen := map[string]int{}
	for _, d := range diags {
		index, _ := slices.BinarySearchFunc(rules, d.Rule,
			func(r sarifRule, id string) int { return strings.Compare(r.ID, id) })
		results = append(results, sarifResult{
			RuleID:       d.Rule,
			RuleIndex:    index,
			Level:        d.Severity,
			Message:      sarifText{d.text()},
			Locations:    []sarifLocation{{d.physical()}},
			Fingerprints: map[string]string{"lkeplan/v1": d.fingerprint(seen)},
		})
	}
	return JSON(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:       sarifTool{sarifDriver{"lkeplan", version, "https://github.com/lkeplan/lkeplan", rules}},
			ColumnKind: "unicodeCodePoints",
			Results:    results,
		}},
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
func (d Diagnostic) physical() sarifPhysical {
	at := d.Range
	if at == nil {
		return sarifPhysical{Artifact: sarifArtifact{"."}}
	}
	region := &sarifRegion{StartLine: max(1, at.Start.Line), StartColumn: max(1, at.Start.Column)}
	region.EndLine, region.EndColumn = max(region.StartLine, at.End.Line), max(1, at.End.Column)
	if s := d.Snippet; s != nil {
		region.Snippet = &sarifText{OneLine(s.Line)}
		region.StartColumn = 1 + utf8.RuneCountInString(s.Line[:s.start])
		if at.Start.Line == at.End.Line {
			region.EndColumn = 1 + utf8.RuneCountInString(s.Line[:s.end])
		}
	}
	path := filepath.ToSlash(at.Filename)
	uri := url.URL{Path: path}
	if strings.HasPrefix(path, "/") {
		uri.Scheme = "file"
	}
	return sarifPhysical{sarifArtifact{uri.String()}, region}
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
