package gitops

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/isolate"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
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

// candidate is a compiled revision, with what it is compared with: the last applied files, and the cluster.
type candidate struct {
	revision
	head         compile.Result
	read         isolate.Pick // the files that the compiler read
	base         compiled     // what was last applied
	cluster      Cluster      // as the account of the NodePlan
	deleting     bool         // the NodePlan is being deleted, with everything that it applied
	withoutMoves bool         // it is compared as if Karpenter moved no node, and not applied
	// othersDeclare caches what other NodePlans declare at this revision.
	othersDeclare map[client.ObjectKey]declaration
}

// compile compiles the files of a revision and the last applied files.
func (w *Worker) compile(ctx context.Context, rev revision, vars Variables) (*candidate, error) {
	req := compile.Request{Root: rev.files, Dir: sourcePath(rev.np.Spec.Path), Vars: vars.Vars, Version: w.Version}
	answer, err := w.Compiler.Compile(ctx, req)
	if err := w.refuseUnfit(rev.Revision, answer, err); err != nil {
		return nil, err
	}
	dir := filepath.Join(filepath.Dir(rev.files), "base")
	base, err := w.base(ctx, rev.target, dir, compiled{Answer: answer, request: req})
	if err != nil {
		return nil, err
	}
	cluster, err := w.Connect(rev.np)
	if err != nil {
		return nil, failed(lkeplanv1alpha1.ReasonApplyFailed, "%v", err)
	}
	answer.Inventory = nodeplan.InventoryLabel(rev.target.NodePlan)
	return &candidate{
		revision: rev, head: answer.Result, read: isolate.Pick{Dir: rev.files, Names: answer.Read}, base: base, cluster: cluster,
	}, nil
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

// appliedRecord is what a NodePlan has last applied.
type appliedRecord struct {
	Path   string // the directory that was compiled
	Digest string // of the files and the path
	// Variables are the values that the files were compiled with.
	Variables []lkeplanv1alpha1.RecordedVariable
	// Missing explains, in one sentence, why the files are unknown. A change then waits for approval. It is "" if
	// they are known, or if nothing was applied yet.
	Missing string
}

// Known reports whether the files are known to be those that were last applied.
func (r appliedRecord) Known() bool { return r.Digest != "" && r.Missing == "" }

// maxRecord is the maximum size of a record's packed files. The API server refuses objects of
// more than about 1.5 MiB.
const maxRecord = 900 << 10

// recordStore keeps the files that were last applied in a NodePlanRecord for each NodePlan, which
// is deleted together with it. The client must not use a cache.
type recordStore struct{ Client client.Client }

// Load writes the files that were last applied into an empty directory. The files are known if
// their digest matches the status of the NodePlan, which only the controller can write.
func (c recordStore) Load(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string) (appliedRecord, error) {
	var kept lkeplanv1alpha1.NodePlanRecord
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(np), &kept)
	if client.IgnoreNotFound(err) != nil {
		return appliedRecord{}, fmt.Errorf("get NodePlanRecord %s/%s: %w", np.Namespace, np.Name, err)
	}
	// Ignore the record of a deleted NodePlan with the same name.
	owned := func(o metav1.OwnerReference) bool { return o.UID == np.UID }
	there := err == nil && slices.ContainsFunc(kept.OwnerReferences, owned)
	switch {
	case !there && np.Status.LastAppliedRevision == "":
		return appliedRecord{}, nil
	case !there:
		return appliedRecord{Missing: "There is no record of the last applied revision."}, nil
	case kept.Files == nil:
		return appliedRecord{Missing: "The files of the last applied revision are too large for a record."}, nil
	}
	record := appliedRecord{Path: sourcePath(kept.Path)}
	if err := isolate.Unpack(bytes.NewReader(kept.Files), dir); err != nil {
		return appliedRecord{Missing: fmt.Sprintf("The record of the last applied revision cannot be read: %v.", err)}, nil
	}
	files, err := isolate.PickAll(dir)
	if err == nil {
		record.Digest, err = files.Digest(record.Path)
	}
	if err != nil {
		return appliedRecord{}, fmt.Errorf("read what was last applied: %w", err)
	}
	record.Variables = kept.Variables
	digest, err := c.lastApplied(ctx, np, recordDigest(record))
	switch {
	case err != nil || digest == recordDigest(record):
		return record, err
	case digest == "": // it was stored for a first revision, before any of it was applied
		return appliedRecord{}, nil
	}
	return appliedRecord{Missing: "The record of the last applied revision does not match what was applied."}, nil
}

// lastApplied returns the digest in the status; "" if nothing was applied. The NodePlan may come from a cache that
// lacks the last status, so it is read again unless it has the digest of the record.
func (c recordStore) lastApplied(ctx context.Context, np *lkeplanv1alpha1.NodePlan, digest string) (string, error) {
	if np.Status.LastAppliedDigest == digest {
		return digest, nil
	}
	var current lkeplanv1alpha1.NodePlan
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(np), &current); err != nil {
		return "", fmt.Errorf("get NodePlan %s/%s: %w", np.Namespace, np.Name, err)
	}
	if current.UID != np.UID {
		return "another NodePlan", nil
	}
	return cmp.Or(current.Status.LastAppliedDigest, current.Status.LastAppliedRevision), nil
}

// recordDigest returns the digest of a complete record.
func recordDigest(r appliedRecord) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%d\n", r.Digest, len(r.Variables))
	for _, v := range r.Variables {
		fmt.Fprintf(hash, "%q %q %q\n", v.Name, v.Value, v.Digest)
	}
	return fmt.Sprintf("sha256:%x", hash.Sum(nil))
}

// recordedVariables converts variables for the record of a NodePlan.
func recordedVariables(np *lkeplanv1alpha1.NodePlan, vars []config.Var) (kept []lkeplanv1alpha1.RecordedVariable) {
	for _, v := range vars {
		r := lkeplanv1alpha1.RecordedVariable{Name: v.Name, Value: v.Value}
		if v.Secret {
			sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", np.UID, v.Name, v.Value))
			r.Value, r.Digest = "", fmt.Sprintf("sha256:%x", sum)
		}
		kept = append(kept, r)
	}
	return kept
}

// Values returns the values with which the files of a record were compiled. Values from Secrets are not recorded,
// so their current values are used; changed lists the names of those that differ.
func (r appliedRecord) Values(np *lkeplanv1alpha1.NodePlan, now []config.Var) (vars []config.Var, changed []string) {
	current := map[string]config.Var{}
	for _, v := range now {
		current[v.Name] = v
	}
	for _, kept := range r.Variables {
		v := config.Var{Name: kept.Name, Value: kept.Value}
		if kept.Digest != "" {
			found := false
			v, found = current[kept.Name]
			if !found || recordedVariables(np, []config.Var{v})[0] != kept {
				changed = append(changed, kept.Name)
			}
			if !found {
				continue
			}
			v.Secret = true
		}
		vars = append(vars, v)
	}
	return vars, changed
}

// Store keeps the files that were applied and the values of variables, and returns the digest of
// both for the status. If they are too large for an object, the record contains neither.
func (c recordStore) Store(
	ctx context.Context, np *lkeplanv1alpha1.NodePlan, files isolate.Pick, vars []config.Var,
) (string, error) {
	path := sourcePath(np.Spec.Path)
	digest, err := files.Digest(path)
	if err != nil {
		return "", err
	}
	variables := recordedVariables(np, vars)
	digest = recordDigest(appliedRecord{Digest: digest, Variables: variables})
	packed, err := files.Pack()
	if err != nil {
		return "", err
	}
	size := len(packed)
	for _, v := range variables {
		size += len(v.Name) + len(v.Value) + len(v.Digest)
	}
	if size > maxRecord {
		packed, variables = nil, nil
	}
	record := &lkeplanv1alpha1.NodePlanRecord{ObjectMeta: metav1.ObjectMeta{Namespace: np.Namespace, Name: np.Name}}
	_, err = controllerutil.CreateOrPatch(ctx, c.Client, record, func() error {
		record.Path, record.Files, record.Variables, record.OwnerReferences = path, packed, variables, nil
		return controllerutil.SetOwnerReference(np, record, c.Client.Scheme())
	})
	if apierrors.IsRequestEntityTooLargeError(err) {
		return "", fmt.Errorf("%w; make the configuration smaller", err)
	}
	return digest, err
}
