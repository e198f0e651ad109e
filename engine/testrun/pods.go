package testrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// hasPods reports whether the run names pods, and not only a snapshot that has some.
func (t *trying) hasPods() bool { return len(t.run.Pods)+len(t.run.Workloads) > 0 }

// simulate simulates the pods of the run with a configuration.
func (t *trying) simulate(ctx context.Context, with compile.Result) (simulate.Result, error) {
	in, err := compare.SimulationOf(with, t.prices)
	if err != nil {
		return simulate.Result{}, err
	}
	found, err := t.pods(in)
	if err != nil {
		return simulate.Result{}, err
	}
	t.note(found.Notes)
	in.Pods, in.AssumeLKE = found.Pods, t.hasPods() && !t.run.NoLKEDaemonSets
	if len(in.Workloads) == 0 {
		return simulate.Result{}, errors.New("the sources of the run contain no pods, so it would check nothing")
	}
	return simulate.Run(ctx, in)
}

// pods returns those that the run names, or else those of its snapshot.
func (t *trying) pods(in simulate.Input) (found workload.Found, err error) {
	if !t.hasPods() {
		if found, err = t.snapshot.PodsFor(in); err != nil {
			err = fmt.Errorf("snapshot %s: %w", t.run.Snapshot, err)
		}
		return found, err
	}
	var objects []manifests.Object
	for _, name := range t.run.Workloads {
		some, err := t.manifests(name)
		if err != nil {
			return found, fmt.Errorf("workloads %s: %w", name, err)
		}
		objects = append(objects, some...)
	}
	if found, err = workload.Read(objects, false); err != nil {
		return found, fmt.Errorf("workloads %w", err)
	}
	if len(found.Missing) > 0 {
		return found, fmt.Errorf("workloads %s", strings.Join(found.Missing, "; "))
	}
	for _, text := range t.run.Pods {
		load, err := workload.ParsePods(text)
		if err != nil {
			return found, fmt.Errorf("pods %w", err)
		}
		found.Workloads = append(found.Workloads, load)
	}
	return found, nil
}

// path returns a path of the run in the file system.
func (t *trying) path(name string) (string, error) {
	full := path.Join(t.Options.Dir, name)
	if path.IsAbs(name) || !fs.ValidPath(full) {
		return "", fmt.Errorf("%q is outside the repository; only files in it are read", name)
	}
	return full, nil
}

// manifests reads a file, or the files of a directory and of those below it. What of them may have pods and cannot be
// read is an error: assertions would hold of some of the pods only.
func (t *trying) manifests(name string) (objects []manifests.Object, err error) {
	root, err := t.path(name)
	if err != nil {
		return nil, err
	}
	info, err := fs.Lstat(t.FS, root)
	switch {
	case err != nil:
		return nil, files.Cause(err)
	case info.IsDir():
		found, err := manifests.Directory{FS: t.FS, Root: root, Kinds: workload.Kinds()}.Read()
		if err != nil {
			return nil, files.Cause(err)
		}
		notes, missing := found.Notes()
		t.note(notes)
		if len(missing) > 0 {
			return nil, fmt.Errorf("pods may be missing or differ: %s", strings.Join(missing, "; "))
		}
		return found.Objects, nil
	case !info.Mode().IsRegular():
		return nil, errors.New("not a file")
	}
	opened, err := t.FS.Open(root)
	if err != nil {
		return nil, files.Cause(err)
	}
	defer opened.Close()
	return manifests.Read(root, opened)
}

// note notes what of the pods does not count, each once: the base has the same pods.
func (t *trying) note(notes []string) {
	for _, note := range notes {
		if !slices.Contains(t.outcome.Notes, note) {
			t.outcome.Notes = append(t.outcome.Notes, note)
		}
	}
}

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
		tie := compare.Tie{Cluster: t.head.Cluster, Other: base.Cluster.Name, Place: "snapshot " + t.run.Snapshot}
		return compare.RevisionsOn(ctx, base, t.head, compare.Tied(t.snapshot.View(), tie), t.prices, t.at)
	case t.hasPods():
		before, err := t.simulate(ctx, base)
		if err != nil {
			return plan.Plan{}, fmt.Errorf("simulate the pods: %w", err)
		}
		nodes, err := nodesOf(before, base)
		if err != nil {
			return plan.Plan{}, err
		}
		t.uncounted = t.undated(nodes)
		return compare.RevisionsAmong(ctx, base, t.head, nodes, t.prices, t.at)
	}
	return compare.Revisions(ctx, base, t.head, t.prices, t.at)
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

// versionsOf returns the versions of Kubernetes that node classes name, by their names.
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
