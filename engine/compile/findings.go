package compile

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/lint"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
)

// A RuleName is the Extra of a diagnostic of a rule in package lint.
type RuleName string

// DiagnosticRule returns the name, for package diag.
func (n RuleName) DiagnosticRule() string { return string(n) }

// embedded is read on first use, once in a process.
var embedded = sync.OnceValues(catalog.Embedded)

// lintFindings returns the diagnostics of package lint for a directory, with their lines. Warnings are
// only for directories without errors: what is missing because of an error is not intentional.
func lintFindings(compiled Result, invalid map[config.Addr]bool, diags hcl.Diagnostics) hcl.Diagnostics {
	in := lint.Input{Cluster: compiled.Cluster, Current: compiled.Catalog != nil}
	in.Catalog, _ = compiled.Prices() // a test reads the built-in one
	resources := map[config.Addr]config.Object{}
	for _, r := range compiled.Objects {
		if invalid[r.Addr] {
			continue
		}
		resources[r.Addr] = r
		in.Objects = append(in.Objects, r)
	}
	in.Partial = diags.HasErrors()
	var found hcl.Diagnostics
	titles := lint.Titles()
	for _, f := range lint.Check(in) {
		found = append(found, lintDiagnostic(f, titles[f.Name], resources, compiled.Files))
	}
	if in.Partial || found.HasErrors() {
		return found
	}
	return dropIgnored(found, compiled.Ignores)
}

// Diagnose converts later findings in the objects of a directory into diagnostics, except for those
// that a comment silences.
func (c Result) Diagnose(found []lint.Finding) (diags hcl.Diagnostics) {
	titles, objects := lint.Titles(), map[config.Addr]config.Object{}
	for _, o := range c.Objects {
		objects[o.Addr] = o
	}
	for _, f := range found {
		diags = append(diags, lintDiagnostic(f, titles[f.Name], objects, c.Files))
	}
	return diag.Append(nil, diag.Sort(dropIgnored(diags, c.Ignores))...)
}

func lintDiagnostic(f lint.Finding, title string, resources map[config.Addr]config.Object,
	files map[string]*hcl.File) *hcl.Diagnostic {
	d := &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  title,
		Detail:   fmt.Sprintf("%s More: lkeplan explain %s.", f.Message, f.Name),
		Extra:    RuleName(f.Name),
	}
	if f.Severity == lint.Warning {
		d.Severity = hcl.DiagWarning
	}
	r, ok := resources[f.Addr]
	if !ok {
		d.Subject = clusterRange(files, f.Path)
		return d
	}
	origin := r.Origins.Find(f.Path)
	d.Subject, d.Expression, d.EvalContext = &origin.Range, origin.Expression, origin.Context
	return d
}

// clusterRange returns the location of an argument of the cluster block, or of the block if the argument
// is missing.
func clusterRange(files map[string]*hcl.File, argument string) *hcl.Range {
	document := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: schemas.Cluster.Type}}}
	body := &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: argument}}}
	for _, file := range files {
		content, _, _ := file.Body.PartialContent(document)
		if content == nil || len(content.Blocks) == 0 {
			continue
		}
		block := content.Blocks[0]
		inner, _, _ := block.Body.PartialContent(body)
		if attr, ok := inner.Attributes[argument]; ok {
			return attr.Expr.Range().Ptr()
		}
		return block.DefRange.Ptr()
	}
	return nil
}

// dropIgnored drops the warnings that comments silence.
func dropIgnored(found hcl.Diagnostics, ignores []diag.Ignore) hcl.Diagnostics {
	return slices.DeleteFunc(found, func(d *hcl.Diagnostic) bool {
		name, _ := d.Extra.(RuleName)
		return d.Severity == hcl.DiagWarning &&
			slices.ContainsFunc(ignores, func(i diag.Ignore) bool { return i.Name == string(name) && i.Covers(d.Subject) })
	})
}
