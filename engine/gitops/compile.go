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
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// compiled is a compiled source, and the request that compiled it, with which its policies are evaluated.
type compiled struct {
	compile.Answer
	request compile.Request
	// first means that nothing was applied yet, as far as known.
	first bool
	// lastAppliedError explains why this is the new revision instead of the last applied one, which is unknown or
	// no longer compiles. It is "" if this is the last applied revision.
	lastAppliedError string
}

// digest returns the digest of the files that were read.
func (c compiled) digest() (string, error) {
	return isolate.Pick{Dir: c.request.Root, Names: c.Read}.Digest(c.request.Dir)
}

// compile compiles the files of a revision and the last applied files.
func (w *Worker) compile(ctx context.Context, rev *revision, vars Variables) error {
	req := compile.Request{Root: rev.files, Dir: sourcePath(rev.np.Spec.Path), Vars: vars.Vars, Version: w.Version}
	answer, err := w.Compiler.Compile(ctx, req)
	if err := w.refuseUnfit(rev.Revision, answer, err); err != nil {
		return err
	}
	rev.head, rev.read = answer.Result, isolate.Pick{Dir: rev.files, Names: answer.Read}
	rev.head.Inventory = nodeplan.InventoryLabel(rev.target.NodePlan)
	dir := filepath.Join(filepath.Dir(rev.files), "base")
	rev.base, err = w.base(ctx, rev.target, dir, compiled{Answer: answer, request: req})
	return err
}

// refuseUnfit refuses a revision that does not compile or is for another cluster.
func (w *Worker) refuseUnfit(revision string, answer compile.Answer, err error) error {
	switch {
	case errors.Is(err, compile.ErrTimeout), errors.Is(err, compile.ErrMemory):
		return stalled(lkeplanv1alpha1.ReasonCompileFailed, "revision %s is not applied: %v", revision, err)
	case err != nil:
		return failed(lkeplanv1alpha1.ReasonCompileFailed, "compile revision %s: %v", revision, err)
	case answer.Failed:
		// The file and the line come first, because a table of NodePlans shows only the first line.
		return stalled(lkeplanv1alpha1.ReasonCompileFailed, "%s\nRevision %s was not applied; the previous revision "+
			"stays in place.", strings.Join(answer.Errors(), "\n"), revision)
	case answer.Cluster.Name != w.Cluster:
		return stalled(lkeplanv1alpha1.ReasonWrongCluster,
			"revision %s is not applied: it is for cluster %q, but this is cluster %q", revision, answer.Cluster.Name, w.Cluster)
	}
	return nil
}

// base compiles the last applied files, in an empty directory and with the variables that they
// were applied with, for their guards and policies. If nothing was applied yet, those of head, the
// new revision, apply.
func (w *Worker) base(ctx context.Context, to target, dir string, head compiled) (compiled, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return head, failed(lkeplanv1alpha1.ReasonArtifactFailed, "create a directory for what was last applied: %v", err)
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
			return head, failed(lkeplanv1alpha1.ReasonApplyFailed, "read the compiled files: %v", err)
		}
		if digest == last.Digest {
			return head, nil
		}
	}
	answer, err := w.Compiler.Compile(ctx, req)
	if err != nil {
		// A fallback would let a revision lift the guards that evaluate it.
		return head, failed(lkeplanv1alpha1.ReasonCompileFailed, "compile what was last applied: %v", err)
	}
	switch {
	case answer.Failed: // it compiled when it was applied
		head.lastAppliedError = "The last applied revision no longer compiles. Do not remove a value from a Secret " +
			"while the applied configuration uses it:\n" + strings.Join(answer.Errors(), "\n")
		return head, nil
	case len(changed) > 0 && answer.PolicyCount > 0: // only conditions of policies can read a Secret
		head.lastAppliedError = fmt.Sprintf("The last applied policies can read values from Secrets, and these values have "+
			"changed: %s.", strings.Join(changed, ", "))
		return head, nil
	}
	return compiled{Answer: answer, request: req}, nil
}

// refuseUnknown blocks a plan with changes if the last applied files are unknown or do not compile.
// Otherwise, losing these files would let a commit's own guards evaluate it. Objects that are kept
// although they carry the NodePlan's label count as changes: the NodePlan may have applied them.
func (c compiled) refuseUnknown(p judged) []plan.Verdict {
	why, strays := c.lastAppliedError, c.first && len(p.stays) > 0
	if strays || c.first && (p.touchesOurs() || p.touchesNodes()) {
		why = "There is no record of the last applied revision, but its objects are in the cluster."
	} else if outside := p.touchesOutside(); c.first && len(outside) > 0 {
		why = "This is the first revision, and it affects nodes of pools that it does not declare: " + strings.Join(outside, ", ") + "."
	}
	if why == "" || p.Plan.Empty() && !strays {
		return c.refuseLeft(p)
	}
	return []plan.Verdict{{
		Guard: "last_applied", Status: plan.Blocked,
		Detail: "The last applied guards are unknown, and the guards of this revision cannot replace them. " + why,
	}}
}

// refuseLeft blocks a plan that removes or replaces nodes because of existing pools, or other objects, that the last
// applied files do not declare. Either spec.prune was false when they left the source, or another NodePlan or a
// directory has released them. In both cases no guard has evaluated their nodes.
func (c compiled) refuseLeft(p judged) []plan.Verdict {
	declared := plan.ByKey(c.Objects)
	affects := map[string]bool{} // addresses of the objects because of which nodes are replaced
	for _, change := range p.Plan.Changes {
		if change.Kind == "NodePool" && affectsNodes(change) {
			affects[change.Addr] = true
			for _, addr := range change.Because {
				affects[addr] = true
			}
		}
	}
	var left []string
	for _, change := range p.Plan.Changes {
		_, condemned := plan.ReadRemoval(change.Old)
		_, declares := declared[change.Key()]
		if change.Old != nil && affects[change.Addr] && !change.Outside && !declares && !condemned {
			left = append(left, change.Addr)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return []plan.Verdict{{
		Guard: "last_applied", Status: plan.Blocked,
		Detail: "The last applied files do not declare these objects, so their guards are unknown: " +
			strings.Join(left, ", ") + ".",
	}}
}

// affectsNodes reports whether nodes of a pool may be removed or replaced.
func affectsNodes(c plan.Change) bool {
	none := c.Impact != nil && c.Impact.Known && c.Impact.Of == 0
	return !none && (c.Prune == plan.StartRemoval || c.Effect != plan.None && c.Effect != plan.InPlace || c.Loosens)
}

// touchesOutside returns the pools that the plan does not declare and whose nodes it may remove or replace. Their
// guards belong to others.
func (p judged) touchesOutside() (pools []string) {
	for _, c := range p.Plan.Changes {
		if c.Outside && affectsNodes(c) {
			pools = append(pools, c.Addr)
		}
	}
	return pools
}

// touchesNodes reports whether a plan may remove or replace nodes of objects that were applied before, with other
// guards: by a NodePlan that was deleted since, from the command line, or by the NodePlan from which they are taken
// over.
func (p judged) touchesNodes() bool {
	applied := map[manifest.Key]bool{}
	for _, t := range p.Targets {
		applied[manifest.KeyOf(t.Desired)] = t.Live != nil && kube.Applied(t.Live)
	}
	return slices.ContainsFunc(p.Plan.Changes, func(c plan.Change) bool {
		return applied[c.Key()] && affectsNodes(c)
	})
}

// touchesOurs reports whether a plan changes or deletes objects that carry the NodePlan's label. The
// inventory in the status cannot be relied on here, because it may be lost as well.
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
