package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/fetch"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// compiled is a compiled source, and the request that its policies are judged by.
type compiled struct {
	compile.Answer
	request compile.Request
	// first is true where nothing was applied yet, as far as is known.
	first bool
	// lastAppliedError says why this is the new revision and not the one that was
	// last applied: that is not known, or no longer compiles. "" where this is not so.
	lastAppliedError string
	// appliedBy is the version of another release that applied these very files last;
	// "" where it was this one, or they have changed since.
	appliedBy string
}

// digest names the files that were read.
func (c compiled) digest() (string, error) {
	return fetch.Pick{Dir: c.request.Root, Names: c.Read}.Digest(c.request.Dir)
}

// compile compiles the files of a revision, and those that were last applied.
func (w *Worker) compile(ctx context.Context, rev *revision, vars Variables) error {
	req := compile.Request{Root: rev.files, Dir: sourcePath(rev.np.Spec.Path), Vars: vars.Vars, Version: w.Version}
	answer, err := w.Compiler.Compile(ctx, req)
	if err := w.refuseUnfit(rev.Revision, answer, err); err != nil {
		return err
	}
	rev.head, rev.read = answer.Result, fetch.Pick{Dir: rev.files, Names: answer.Read}
	rev.head.Inventory = nodeplan.InventoryLabel(rev.target.NodePlan)
	dir := filepath.Join(filepath.Dir(rev.files), "base")
	rev.base, err = w.base(ctx, rev.target, dir, compiled{Answer: answer, request: req})
	return err
}

// refuseUnfit refuses a revision that does not compile, or is for another
// cluster.
func (w *Worker) refuseUnfit(revision string, answer compile.Answer, err error) error {
	switch {
	case errors.Is(err, compile.ErrTimeout), errors.Is(err, compile.ErrMemory):
		return stalled(lkeplanv1alpha1.ReasonCompileFailed, "revision %s is not applied: %v", revision, err)
	case err != nil:
		return failed(lkeplanv1alpha1.ReasonCompileFailed, "compile revision %s: %v", revision, err)
	case answer.Failed:
		// File and line come first: a table of NodePlans shows the first line.
		return stalled(lkeplanv1alpha1.ReasonCompileFailed, "%s\nRevision %s is not applied, what was applied before stays.",
			strings.Join(answer.Errors(), "\n"), revision)
	case answer.Cluster.Name != w.Cluster:
		return stalled(lkeplanv1alpha1.ReasonWrongCluster,
			"revision %s is not applied: it is for the cluster %q, and this is %q", revision, answer.Cluster.Name, w.Cluster)
	}
	return nil
}

// base compiles the files that were last applied, in an empty directory and with the
// variables that they were applied with, for their guards and policies. Where nothing was
// applied yet, those of head, the new revision, hold.
func (w *Worker) base(ctx context.Context, to target, dir string, head compiled) (compiled, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return head, failed(lkeplanv1alpha1.ReasonArtifactFailed, "make a directory for what was last applied: %v", err)
	}
	last, err := w.Records.Load(ctx, to.NodePlan, dir)
	if err != nil {
		return head, failed(lkeplanv1alpha1.ReasonApplyFailed, "read what was last applied: %v", err)
	}
	if !last.Known() {
		head.first, head.lastAppliedError = last.Missing == "", last.Missing
		return head, nil
	}
	values, changed := last.Values(to.NodePlan, to.vars.Vars)
	req := compile.Request{Root: dir, Dir: last.Path, Vars: values, IgnoreUndeclared: true}
	if slices.Equal(req.Vars, head.request.Vars) && len(changed) == 0 {
		digest, err := head.digest()
		if err != nil {
			return head, failed(lkeplanv1alpha1.ReasonApplyFailed, "read the files that were compiled: %v", err)
		}
		if digest == last.Digest {
			if by := to.NodePlan.Status.LastAppliedBy; by != w.Version {
				head.appliedBy = by
			}
			return head, nil
		}
	}
	answer, err := w.Compiler.Compile(ctx, req)
	if err != nil {
		// Otherwise a revision could lift the guards that it is judged by.
		return head, failed(lkeplanv1alpha1.ReasonCompileFailed, "compile what was last applied: %v", err)
	}
	switch {
	case answer.Failed: // it compiled when it was applied
		head.lastAppliedError = "It has errors now; remove a value from a Secret only when nothing that is applied " +
			"uses it:\n" + strings.Join(answer.Errors(), "\n")
		return head, nil
	case len(changed) > 0 && answer.PolicyCount > 0: // only their conditions can read a Secret
		head.lastAppliedError = fmt.Sprintf("Its policies can read values from Secrets, of which these have changed: %s.",
			strings.Join(changed, ", "))
		return head, nil
	}
	return compiled{Answer: answer, request: req}, nil
}

// refuseRelease blocks a plan that replaces nodes although the files are those that
// another release of this program applied: this one makes something else of them, and
// nobody has seen that in a pull request. What others have set in the cluster is not
// its doing.
func (c compiled) refuseRelease(p plan.Plan, version string) []plan.Verdict {
	set := func(change plan.Change, f plan.Field) bool {
		return slices.ContainsFunc(p.Drift,
			func(d plan.Drift) bool { return d.Key() == change.Key() && d.Path == f.Path })
	}
	var rolled []string
	for _, change := range p.Changes {
		if slices.ContainsFunc(change.Fields, func(f plan.Field) bool {
			return (f.Effect == plan.Roll || f.Effect == plan.MayRemove) && !set(change, f)
		}) {
			rolled = append(rolled, change.Addr)
		}
	}
	if c.appliedBy == "" || len(rolled) == 0 {
		return nil
	}
	return []plan.Verdict{{
		Guard: "new_release", Status: plan.Blocked,
		Detail: fmt.Sprintf("No file has changed since lkeplan %s applied them, and lkeplan %s would replace or "+
			"remove nodes: it makes something else of %s.", c.appliedBy, version, strings.Join(rolled, ", ")),
	}}
}

// refuseUnknown blocks a plan that changes something while the files that were last
// applied are not known, or do not compile. Otherwise whoever can have them lost
// would have a commit judged by its own guards. Objects with the NodePlan's label that
// stay are a change, too: it may have applied them.
func (c compiled) refuseUnknown(p judged) []plan.Verdict {
	why, strays := c.lastAppliedError, c.first && len(p.stays) > 0
	if strays || c.first && (p.touchesOurs() || p.touchesNodes()) {
		why = "There is no record of it, and its objects are in the cluster."
	}
	if why == "" || p.Plan.Empty() && !strays {
		return c.refuseLeft(p)
	}
	return []plan.Verdict{{
		Guard: "last_applied", Status: plan.Blocked,
		Detail: "The guards that were last applied are not known, and those of this revision cannot stand for them. " + why,
	}}
}

// refuseLeft blocks a plan by which nodes go of pools that are in the cluster and that the last
// applied files do not declare. Either they stayed when they were removed, as spec.prune was false,
// or another NodePlan or a directory has released them: no guard was asked about their nodes.
func (c compiled) refuseLeft(p judged) []plan.Verdict {
	declared := plan.ByKey(c.Objects)
	var left []string
	for _, change := range p.Plan.Changes {
		_, condemned := plan.ReadRemoval(change.Old)
		_, declares := declared[change.Key()]
		none := change.Impact != nil && change.Impact.Known && change.Impact.Of == 0
		goes := change.Prune == plan.StartRemoval || change.Effect != plan.None && change.Effect != plan.InPlace || change.Loosens
		if goes && change.Old != nil && change.Kind == "NodePool" && !change.Outside &&
			!declares && !condemned && !none {
			left = append(left, change.Addr)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return []plan.Verdict{{
		Guard: "last_applied", Status: plan.Blocked,
		Detail: "The files that were last applied do not have these pools, and the guards that they had are not known: " +
			strings.Join(left, ", ") + ".",
	}}
}

// touchesNodes reports whether a plan changes objects that lkeplan has applied before, such
// that nodes may go: through a NodePlan that was deleted since, from the command line, or
// through the NodePlan that they are taken over from. There may have been guards.
func (p judged) touchesNodes() bool {
	applied := map[manifest.Key]bool{}
	for _, t := range p.Targets {
		applied[manifest.KeyOf(t.Desired)] = t.Live != nil && kube.Applied(t.Live)
	}
	return slices.ContainsFunc(p.Plan.Changes, func(c plan.Change) bool {
		none := c.Impact != nil && c.Impact.Known && c.Impact.Of == 0
		return applied[c.Key()] && c.Effect != plan.None && c.Effect != plan.InPlace && !none
	})
}

// touchesOurs reports whether a plan changes or deletes objects that carry the NodePlan's
// label. What it has applied of them its status says, and that may be lost as well.
func (p judged) touchesOurs() bool {
	labelled := map[manifest.Key]bool{}
	for _, obj := range p.labelled {
		labelled[manifest.KeyOf(obj)] = true
	}
	return slices.ContainsFunc(p.Plan.Changes, func(c plan.Change) bool {
		ours := p.ours[c.Key()] || labelled[c.Key()]
		return ours && !p.received[c.Key()] && (c.Action == plan.Update || c.Action == plan.Delete)
	})
}
