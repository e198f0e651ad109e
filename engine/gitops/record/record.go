// Package record keeps what was last applied through a NodePlan: the next revision is
// judged by the guards in it.
package record

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/lkeplan/lkeplan/engine/fetch"
	"github.com/lkeplan/lkeplan/engine/gitops/origin"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Record is what was last applied through a NodePlan.
type Record struct {
	Path   string // the directory that was compiled
	Digest string // of the files and the path
	// Missing says, as a sentence, why the files are not known. Then a change waits
	// for approval. "" where they are, and where nothing was applied yet.
	Missing string
}

// Known reports whether the files are those that were last applied.
func (r Record) Known() bool { return r.Digest != "" && r.Missing == "" }

// maxRecord bounds the packed files of a record: an object that is larger than
// about 1.5 MiB is refused.
const maxRecord = 900 << 10

// Cluster keeps the files that were last applied in a NodePlanRecord next to
// each NodePlan, which is deleted with it. The client needs no cache.
type Cluster struct{ Client client.Client }

// Load writes the files that were last applied into an empty directory. The files are known
// where they have the digest in the status of the NodePlan, which others cannot write.
func (c Cluster) Load(ctx context.Context, np *lkeplanv1alpha1.NodePlan, dir string) (Record, error) {
	var kept lkeplanv1alpha1.NodePlanRecord
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(np), &kept)
	if client.IgnoreNotFound(err) != nil {
		return Record{}, fmt.Errorf("get NodePlanRecord %s/%s: %w", np.Namespace, np.Name, err)
	}
	there := err == nil && ownedBy(&kept, np) // not that of a NodePlan of this name that is gone
	switch {
	case !there && np.Status.LastAppliedRevision == "":
		return Record{}, nil
	case !there:
		return Record{Missing: "There is no record of it."}, nil
	case kept.Files == nil:
		return Record{Missing: "Its files are too large to be kept."}, nil
	}
	record := Record{Path: origin.Path(kept.Path)}
	if err := fetch.Unpack(bytes.NewReader(kept.Files), dir); err != nil {
		return Record{Missing: fmt.Sprintf("Its record cannot be read: %v.", err)}, nil
	}
	files, err := fetch.PickAll(dir)
	if err == nil {
		record.Digest, err = files.Digest(record.Path)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read what was last applied: %w", err)
	}
	same, err := c.isLastApplied(ctx, np, record.Digest)
	if err != nil || same {
		return record, err
	}
	return Record{Missing: "Its record has other files than those that were applied."}, nil
}

func ownedBy(record *lkeplanv1alpha1.NodePlanRecord, np *lkeplanv1alpha1.NodePlan) bool {
	return slices.ContainsFunc(record.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == np.UID })
}

// isLastApplied reports whether a digest is that of the status. The NodePlan may come
// from a cache that has not seen the last status yet, so it is read again before the
// answer is no.
func (c Cluster) isLastApplied(ctx context.Context, np *lkeplanv1alpha1.NodePlan, digest string) (bool, error) {
	if np.Status.LastAppliedDigest == digest {
		return true, nil
	}
	var current lkeplanv1alpha1.NodePlan
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(np), &current); err != nil {
		return false, fmt.Errorf("get NodePlan %s/%s: %w", np.Namespace, np.Name, err)
	}
	return current.UID == np.UID && current.Status.LastAppliedDigest == digest, nil
}

// Store keeps the files from which a NodePlan was applied, and returns their digest for
// its status. Where the files are too large for an object, the record
// has none.
func (c Cluster) Store(ctx context.Context, np *lkeplanv1alpha1.NodePlan, files fetch.Pick) (string, error) {
	path := origin.Path(np.Spec.Path)
	digest, err := files.Digest(path)
	if err != nil {
		return "", err
	}
	packed, err := files.Pack()
	if err != nil {
		return "", err
	}
	if len(packed) > maxRecord {
		packed = nil
	}
	record := &lkeplanv1alpha1.NodePlanRecord{ObjectMeta: metav1.ObjectMeta{Namespace: np.Namespace, Name: np.Name}}
	_, err = controllerutil.CreateOrPatch(ctx, c.Client, record, func() error {
		record.Path, record.Files, record.OwnerReferences = path, packed, nil
		return controllerutil.SetOwnerReference(np, record, c.Client.Scheme())
	})
	if apierrors.IsRequestEntityTooLargeError(err) {
		return "", fmt.Errorf("%w; make the configuration smaller", err)
	}
	return digest, err
}
