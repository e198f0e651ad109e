package diff

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/engine/source"
)

// compileBase compiles the base, and the configuration whose guards and policies apply. They
// are never those of the change: if they cannot be read, the error says what to do. Rules names
// their revision if it is not the base.
func (d *Comparison) compileBase(
	ctx context.Context, c *Compared, opts compile.Options,
) (against, rules plan.Revision, err error) {
	switch kind, name, _ := strings.Cut(d.Base, ":"); kind {
	case "plan":
		saved, err := compare.ReadSavedPlan(name)
		if err != nil {
			return against, rules, err
		}
		c.Base, against = saved.Result, plan.Revision{Kind: "plan", Ref: name}
		_, rules, err = d.lastApplied(ctx, c, opts)
		if errors.Is(err, source.ErrNoRepository) {
			c.Rules = saved.Result
			return against, plan.Revision{Kind: "plan", Ref: name, Why: "a saved plan contains no policies"}, nil
		}
		return against, rules, err
	case "live", "snapshot":
		c.Base, rules, err = d.lastApplied(ctx, c, opts)
		if errors.Is(err, source.ErrNoRepository) {
			c.Base, c.Rules = c.Head, c.Head
			return against, ownGuards("the directory is in no Git repository"), nil
		}
		return against, rules, err
	case "", "git", "dir":
		c.Base, against, rules, err = d.configuration(ctx, c, d.Base, opts)
		return against, rules, err
	}
	return against, rules, unknownBase(d.Base)
}

// lastApplied reads the configuration before the change, whose guards and policies apply: that of
// --guards, or else the commit where the change starts.
func (d *Comparison) lastApplied(
	ctx context.Context, c *Compared, opts compile.Options,
) (before compile.Result, rules plan.Revision, err error) {
	before, against, own, err := d.configuration(ctx, c, d.Rules, opts)
	switch {
	case err != nil:
		return before, rules, fmt.Errorf("read guards and policies: %w\nor read them from another place with --guards git:REF "+
			"or dir:PATH", err)
	case own.Kind != "":
		return c.Head, own, nil // there is no earlier configuration
	}
	return before, against, nil
}

// configuration compiles git:REF or dir:PATH, whose guards and policies apply. If the directory is
// new there, its own guards and policies apply, and rules is not empty.
func (d *Comparison) configuration(
	ctx context.Context, c *Compared, text string, opts compile.Options,
) (compiled compile.Result, against, rules plan.Revision, err error) {
	kind, name, _ := strings.Cut(text, ":")
	if kind == "dir" {
		fsys, dirOpts, err := d.Source.Open(ctx, name)
		if err != nil {
			return compiled, against, rules, err
		}
		compiled, diags := compile.Dir(ctx, fsys, dirOpts)
		c.Rules = compiled
		return compiled, plan.Revision{Kind: "dir", Ref: name}, rules, d.checkBase(compiled, diags, name)
	}
	from := revision.Git{
		Dir: d.Dir(), Ref: name, Cluster: c.Head.Cluster.Name, Directory: c.Head.Directory, Work: c.work, Getenv: d.Getenv,
	}
	if d.member != nil {
		from.At, from.Below = d.member.Base, d.member.Below
	}
	commit, err := from.Compile(ctx, opts)
	if err != nil {
		return compiled, against, rules, err
	}
	c.Rules, against = commit.Compiled, commit.Revision()
	c.renamed, c.broken = commit.Renamed, commit.Broken
	if commit.Missing {
		c.Rules, rules = c.Head, ownGuards("the base does not contain this directory")
	}
	return commit.Compiled, against, rules, d.checkBase(commit.Compiled, commit.Diagnostics, against.String())
}

// ownGuards returns the revision of a directory whose own guards and policies apply.
func ownGuards(why string) plan.Revision {
	return plan.Revision{Kind: "dir", Ref: "the directory itself", Why: why}
}

// checkBase prints the errors of a base.
func (d *Comparison) checkBase(compiled compile.Result, diags hcl.Diagnostics, against string) error {
	if !diags.HasErrors() {
		return nil
	}
	if err := d.Report(compiled, diags); !errors.Is(err, ErrReported) {
		return err
	}
	return fmt.Errorf("the base, %s, has these errors; choose another with --base", against)
}

// unknownBase explains how to write a base. A single word is most likely a commit.
func unknownBase(base string) error {
	ref := "REF"
	if !strings.Contains(base, ":") {
		ref = base
	}
	return fmt.Errorf("--base %s: write git:%s, dir:PATH, plan:FILE, snapshot:FILE or live", base, ref)
}
