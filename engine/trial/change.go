package trial

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// compare says what going from the base of the run to the directory does.
func (t *trying) compare(ctx context.Context) (change plan.Plan, ok bool) {
	base, diags, err := t.base(ctx)
	if err != nil {
		return change, t.fail("Cannot read the base", err)
	}
	if diags.HasErrors() {
		for name, file := range base.Files {
			t.outcome.Files["base:"+name] = file
		}
		for _, d := range errorsOf(diags) {
			if d.Subject != nil { // the file of the directory may have the same name
				at := *d.Subject
				at.Filename = "base:" + at.Filename
				d.Subject = &at
			}
			t.outcome.Diagnostics = append(t.outcome.Diagnostics, d)
		}
		return change, t.fail("Cannot read the base", fmt.Errorf("%s does not compile", t.run.Base))
	}
	base.Cluster.Region = cmp.Or(base.Cluster.Region, t.head.Cluster.Region)
	if t.snapshot == nil {
		change, err = compare.Revisions(base, t.head, t.prices, t.at)
	} else {
		tie := compare.Tie{
			Names: []string{t.head.Cluster.Name, base.Cluster.Name}, ID: t.head.Cluster.ID, Region: t.head.Cluster.Region,
			Place: "snapshot " + t.run.Snapshot,
		}
		change, err = compare.RevisionsOn(ctx, base, t.head, compare.Tied(t.snapshot.View(), tie), t.prices, t.at)
	}
	if err == nil {
		err = compare.Guard(&change, base, t.head, nil)
	}
	if err != nil {
		return change, t.fail("Cannot compare with the base", err)
	}
	return change, true
}

// base compiles the directory as it is before the change.
func (t *trying) base(ctx context.Context) (compile.Result, hcl.Diagnostics, error) {
	kind, name, _ := strings.Cut(t.run.Base, ":")
	switch {
	case name == "" || kind != "git" && kind != "dir":
		return compile.Result{}, nil, fmt.Errorf("base = %q: write git:REF or dir:PATH", t.run.Base)
	case kind == "git":
		return t.Commit(ctx, name, t.head.Cluster.Name, t.Options)
	}
	dir, err := t.path(name)
	if err != nil {
		return compile.Result{}, nil, err
	}
	opts := t.Options
	opts.Dir = dir
	compiled, diags := compile.Dir(ctx, t.FS, opts)
	return compiled, diag.Sort(diags), nil
}
