package testrun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
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
	if change, err = t.change(ctx, base); err == nil {
		err = compare.Guard(&change, base, t.head, nil)
	}
	if err != nil {
		return change, t.fail("Cannot compare with the base", err)
	}
	return change, true
}

// change compares on the nodes of the snapshot, on those that the pods have before it, or
// on none.
func (t *trying) change(ctx context.Context, base compile.Result) (plan.Plan, error) {
	switch {
	case t.snapshot != nil:
		tie := compare.Tie{
			Names: []string{t.head.Cluster.Name, base.Cluster.Name}, ID: t.head.Cluster.ID, Region: t.head.Cluster.Region,
			Instances: t.head.Cluster.Instances(), Place: "snapshot " + t.run.Snapshot,
		}
		return compare.RevisionsOn(ctx, base, t.head, compare.Tied(t.snapshot.View(), tie), t.prices, t.at)
	case t.named():
		before, err := t.simulate(ctx, base)
		if err != nil {
			return plan.Plan{}, fmt.Errorf("simulate the pods: %w", err)
		}
		nodes, err := nodesOf(before, base)
		if err != nil {
			return plan.Plan{}, err
		}
		t.uncounted = t.undated(nodes)
		return compare.RevisionsAmong(base, t.head, nodes, t.prices, t.at)
	}
	return compare.Revisions(base, t.head, t.prices, t.at)
}

// nodesOf are simulated nodes, made by a base. They have the version that their class
// names, if it does.
func nodesOf(simulated simulate.Result, base compile.Result) ([]plan.Node, error) {
	hashes := map[string]string{} // of pools
	for _, o := range base.Objects {
		if o.Kind() != schemas.Pool.Object.Kind {
			continue
		}
		hash, err := plan.TemplateHash(o.Defaulted)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", o.Addr, err)
		}
		hashes[o.Name()] = hash
	}
	versions := versionsOf(base)
	nodes := compare.NodesOf(simulated.Claims, nil)
	for i := range nodes {
		n := &nodes[i]
		n.Version = cmp.Or(n.Version, versions[n.Class])
		n.Annotations = maps.Clone(n.Annotations) // Karpenter adds what it knows when it stores the claim
		n.Annotations[karpv1.NodePoolHashAnnotationKey] = hashes[n.Pool]
		n.Annotations[karpv1.NodePoolHashVersionAnnotationKey] = karpv1.NodePoolHashVersion
	}
	return nodes, nil
}

// versionsOf are the versions of Kubernetes that node classes name, by their names.
func versionsOf(c compile.Result) map[string]string {
	versions := map[string]string{}
	for _, o := range c.Objects {
		if o.Kind() == schemas.NodeClass.Object.Kind {
			versions[o.Name()] = manifest.Text(o.Defaulted, "spec", "lkeK8sVersion")
		}
	}
	return versions
}

// undated reports whether the head names a version for some nodes, and theirs is not known.
func (t *trying) undated(nodes []plan.Node) bool {
	versions := versionsOf(t.head)
	return slices.ContainsFunc(nodes, func(n plan.Node) bool { return n.Version == "" && versions[n.Class] != "" })
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
