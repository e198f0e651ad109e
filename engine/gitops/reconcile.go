package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/apply"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Worker does the work of a reconciliation. It changes the status of the
// NodePlan that it is given, and no other object but those of the plan and the
// record of what is in force.
type Worker struct {
	Sources  Sources
	Compiler Compiler
	Connect  func(plan *lkeplanv1alpha1.NodePlan) (Cluster, error) // in whose name the plan is applied
	Vars     func(ctx context.Context, plan *lkeplanv1alpha1.NodePlan) (Variables, error)
	Records  Records
	Claims   *Claims
	Cache    client.Reader // of nodes, NodeClaims, pods and their disruption budgets
	Cluster  string        // the label of the LKE cluster
	Version  string        // of this program, for required_version
	Prices   *catalog.Catalog
	Scratch  string // a directory for what is fetched
	Now      func() time.Time
	// SameNamespace forbids planning for NodePlans of other namespaces.
	SameNamespace bool
}

// Records keeps the sources of what is in force, whatever becomes of where they
// came from.
type Records interface {
	// Load puts the files that are in force into an empty directory, and returns
	// the path in it that was applied. It reports false where nothing is in
	// force, or its files were too many to be kept.
	Load(ctx context.Context, plan *lkeplanv1alpha1.NodePlan, dir string) (path string, known bool, err error)
	// Store keeps the files of a directory, of which the NodePlan's path was
	// applied.
	Store(ctx context.Context, plan *lkeplanv1alpha1.NodePlan, dir string) error
}

// Work brings the cluster in line with a NodePlan, or says why not.
func (w *Worker) Work(ctx context.Context, np *lkeplanv1alpha1.NodePlan) outcome {
	artifact, err := w.Sources.Find(ctx, np)
	if o, bad := sourceProblem(err); bad {
		return o
	}
	np.Status.LastAttemptedRevision = artifact.Revision
	o := w.take(ctx, np, artifact)
	o.revision, o.origin = artifact.Revision, artifact.Origin
	return o
}

// take brings the cluster in line with one revision.
func (w *Worker) take(ctx context.Context, np *lkeplanv1alpha1.NodePlan, artifact Artifact) outcome {
	if np.Spec.RequireVerifiedSource && !artifact.Verified {
		return stalled(lkeplanv1alpha1.ReasonSourceNotVerified, "revision %s is not applied: source-controller has not verified its signature", artifact.Revision)
	}
	dir, err := os.MkdirTemp(w.Scratch, "nodeplan-")
	if err != nil {
		return failed(lkeplanv1alpha1.ReasonArtifactFailed, "make a directory for the source: %v", err)
	}
	defer os.RemoveAll(dir)
	head, inForce := filepath.Join(dir, "head"), filepath.Join(dir, "base")
	if err := errors.Join(os.Mkdir(head, 0o700), os.Mkdir(inForce, 0o700)); err != nil {
		return failed(lkeplanv1alpha1.ReasonArtifactFailed, "make a directory for the source: %v", err)
	}
	fetching, cancel := context.WithTimeout(ctx, timeout(np))
	defer cancel()
	if err := artifact.Fetch(fetching, head); err != nil {
		return failed(lkeplanv1alpha1.ReasonArtifactFailed, "fetch revision %s: %v", artifact.Revision, err)
	}
	vars, err := w.Vars(ctx, np)
	if err != nil {
		return failed(lkeplanv1alpha1.ReasonArtifactFailed, "%v", err)
	}
	through, o, bad := w.through(ctx, np, vars)
	if bad {
		return o
	}
	req := compile.Request{Root: head, Dir: within(np.Spec.Path), Vars: vars.Vars, Version: w.Version}
	known := Variables{Secrets: slices.Concat(vars.Secrets, through.vars.Secrets)}
	compiled, o, bad := w.compile(ctx, np, req)
	if bad {
		return known.hides(np, o)
	}
	base, o, bad := w.base(ctx, through.NodePlan, inForce, based{Answer: compiled, ask: req}, through.vars)
	if bad {
		return known.hides(np, o)
	}
	return known.hides(np, w.carry(ctx, np, through.NodePlan, artifact, head, compiled, base))
}

func sourceProblem(err error) (outcome, bool) {
	var denied DeniedError
	switch {
	case err == nil:
		return outcome{}, false
	case errors.As(err, &denied):
		return stalled(lkeplanv1alpha1.ReasonAccessDenied, "%v", err), true
	}
	return failed(lkeplanv1alpha1.ReasonArtifactFailed, "%v", err), true
}

// carry compares, asks the guards, and applies.
func (w *Worker) carry(ctx context.Context, np, through *lkeplanv1alpha1.NodePlan, artifact Artifact, dir string, answer compile.Answer, base based) outcome {
	to, err := w.Connect(np)
	if err != nil {
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "%v", err)
	}
	head := answer.Result
	head.Inventory = mark(through)
	planOnly := np.Spec.Mode == lkeplanv1alpha1.ModePlanOnly
	if o, bad := w.contested(np, head); bad {
		return o
	}
	found, seen, err := w.compare(ctx, through, to, head, base.Result)
	if err != nil {
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "compare revision %s with the cluster: %v", artifact.Revision, err)
	}
	p, ours, going := found.Plan, seen.owned(), seen.going()
	if o, bad := foreign(p, ours); bad && !planOnly {
		return o // a plan alone shows the conflicts
	}
	if o, bad := w.moved(np, p); bad && !planOnly {
		return o
	}
	if err := w.judge(ctx, through, &p, len(ours)-len(going), head, base); err != nil {
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "%v", err)
	}
	digest, err := p.Digest()
	if err != nil {
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "%v", err)
	}
	allowed, before := approve(through, &p, digest), np.Status.DeepCopy()
	report(np, p, artifact.Revision, digest)
	switch {
	case planOnly:
		o := planned(p, ours).changed(plansAnew(before, &np.Status))
		if o.event, err = comment(through, p, digest); err != nil {
			return failed(lkeplanv1alpha1.ReasonApplyFailed, "write the plan of revision %s: %v", artifact.Revision, err)
		}
		return o
	case allowed:
		found.Plan = p
		return w.apply(ctx, np, artifact, dir, to, head, found, seen)
	}
	return stalled(lkeplanv1alpha1.ReasonGuarded, "revision %s waits for approval: %s\nIt would: %s\nTo let it pass, set spec.approval.planDigest to %s, or lift the guard in an earlier revision.",
		artifact.Revision, refusals(p), sentence(p), digest).changed(true)
}

// contested refuses objects that another NodePlan wants as well. One that only
// plans, for a pull request beside the one that applies, wants none.
func (w *Worker) contested(np *lkeplanv1alpha1.NodePlan, head compile.Result) (outcome, bool) {
	var wanted []manifest.Key
	if np.Spec.Mode != lkeplanv1alpha1.ModePlanOnly {
		for _, m := range head.Manifests() {
			wanted = append(wanted, manifest.KeyOf(m))
		}
	}
	rivals := w.Claims.Claim(types.NamespacedName{Namespace: np.Namespace, Name: np.Name}, wanted)
	if len(rivals) == 0 {
		return outcome{}, false
	}
	var lines []string
	for object, others := range rivals {
		var names []string
		for _, o := range others {
			names = append(names, o.String())
		}
		lines = append(lines, fmt.Sprintf("%s is also in NodePlan %s", object, strings.Join(names, ", ")))
	}
	slices.Sort(lines)
	return stalled(lkeplanv1alpha1.ReasonConflict, "nothing is applied: %s. Take it out of one of them.", strings.Join(lines, "; ")), true
}

// compare works out the plan, without the fields that others may set, and
// returns what it has seen for that.
func (w *Worker) compare(ctx context.Context, np *lkeplanv1alpha1.NodePlan, to Cluster, head, base compile.Result) (compare.Comparison, *sight, error) {
	seen := w.look(to, head)
	found, err := compare.Live(ctx, head, seen, compare.LiveOptions{
		Base: base, Prices: w.Prices, Now: w.Now(), Prune: np.Spec.Prune == nil || *np.Spec.Prune, Ignore: ignored(np.Spec.DriftIgnore),
	})
	return found, seen, err
}

// judge asks the guards in the source that is in force, those of the NodePlan,
// and the policies. Before is how many objects there are: the cluster says so,
// as a status may have been lost, and may have objects that are gone since.
func (w *Worker) judge(ctx context.Context, np *lkeplanv1alpha1.NodePlan, p *plan.Plan, before int, head compile.Result, base based) error {
	verdicts, err := p.Judge(plan.Bounds{Guards: stricter(base.Guards, np.Spec.Guards, p.Nodes), Before: before, After: len(head.Resources)})
	if err != nil {
		return err
	}
	p.Verdicts = append(verdicts, base.readable(*p)...)
	if base.PolicyCount == 0 {
		return nil
	}
	req := base.ask
	if req.Plan, err = compile.PlanJSON(*p); err != nil {
		return err
	}
	judged, err := w.Compiler.Compile(ctx, req)
	if err != nil {
		return fmt.Errorf("ask the policies that are in force: %w", err)
	}
	p.Verdicts = append(p.Verdicts, judged.Verdicts...)
	return nil
}

// approve lifts all guards where the NodePlan names the digest of the plan, and
// reports whether the plan may be carried out.
func approve(np *lkeplanv1alpha1.NodePlan, p *plan.Plan, digest string) bool {
	if np.Spec.Approval != nil && np.Spec.Approval.PlanDigest == digest {
		for i := range p.Verdicts {
			if p.Verdicts[i].Status == plan.Blocked {
				p.Verdicts[i].Status = plan.Allowed
			}
		}
	}
	return !p.Refused()
}

// apply carries the plan out. Fields of our own objects that others have set
// are set back.
func (w *Worker) apply(ctx context.Context, np *lkeplanv1alpha1.NodePlan, artifact Artifact, dir string, to Cluster, head compile.Result, found compare.Comparison, seen *sight) outcome {
	p, ours := found.Plan, seen.owned()
	found.Plan = uncontested(p)
	applying, cancel := context.WithTimeout(ctx, timeout(np))
	defer cancel()
	changed := 0
	deleted, err := apply.Run(applying, forcing{to, ours}, found, func(step apply.Progress) {
		if step.Event != apply.Event(kube.Unchanged) {
			changed++
		}
	})
	np.Status.Inventory = inventory(head, np.Status.Inventory, append(deleted, seen.going()...), err == nil)
	if err != nil {
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "apply revision %s: %v", artifact.Revision, err).changed(true)
	}
	w.free(np, p)
	if err := w.Records.Store(ctx, np, dir); err != nil {
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "keep a record of revision %s: %v", artifact.Revision, err)
	}
	if np.Status.Pools, err = pools(applying, w.look(to, head), head, p); err != nil {
		return failed(lkeplanv1alpha1.ReasonApplyFailed, "look at the nodes after revision %s: %v", artifact.Revision, err)
	}
	news := np.Status.LastAppliedRevision != artifact.Revision || changed > 0
	np.Status.LastAppliedRevision, np.Status.LastAppliedOriginRevision = artifact.Revision, artifact.Origin
	if np.Spec.Wait {
		if err := apply.WaitReady(applying, w.look(to, head), head.Manifests(), func(apply.Progress) {}); err != nil {
			return failed(lkeplanv1alpha1.ReasonHealthCheckFailed, "revision %s is applied, and not ready yet: %v", artifact.Revision, err).changed(news)
		}
	}
	o := done(lkeplanv1alpha1.ReasonSucceeded, "Applied revision: %s", artifact.Revision).changed(news)
	o.event = o.message + "\n" + sentence(p)
	o.undone = corrections(p, ours)
	return o
}
