package gitops

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/isolate"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// sourceArtifact is one revision of a source.
type sourceArtifact struct {
	Revision string // as Flux writes it: main@sha1:1f2c…
	Origin   string // the commit that it was built from; "" if the source does not name it
	Verified bool   // source-controller has verified its signature
	Stale    bool   // source-controller could not fetch the source when it last tried; there may be a newer one
	// Fetch puts the files into an empty directory. It accepts only regular files, of limited
	// number and size. If the digest differs from that of the source, it fails and unpacks
	// nothing.
	Fetch func(ctx context.Context, dir string) error
}

// deniedError reports that a NodePlan is not allowed to use its source.
type deniedError struct{ text string }

// Error implements error.
func (d deniedError) Error() string { return d.text }

// originCluster finds sources in a cluster: those of Flux's source-controller, and ConfigMaps.
type originCluster struct {
	Cache         client.Reader // of Flux's sources
	Reader        client.Reader // without a cache, for ConfigMaps
	Artifacts     isolate.Artifacts
	SameNamespace bool // forbids sources in other namespaces
}

// Find returns the current revision of a NodePlan's source. The error is a deniedError if the NodePlan
// is not allowed to use it.
func (s originCluster) Find(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	switch {
	case np.Spec.SourceRef != nil:
		return s.flux(ctx, np)
	case np.Spec.ConfigMapRef != nil:
		return s.configMap(ctx, np)
	}
	return sourceArtifact{}, errors.New("the NodePlan names no source") // the CRD forbids it
}

// fluxSource is the common interface of Flux's kinds of sources.
type fluxSource interface {
	client.Object
	conditions.Getter
	sourcev1.Source
}

// fluxKinds are Flux's kinds of sources.
func fluxKinds() map[string]func() fluxSource {
	return map[string]func() fluxSource{
		sourcev1.GitRepositoryKind:    func() fluxSource { return &sourcev1.GitRepository{} },
		sourcev1.OCIRepositoryKind:    func() fluxSource { return &sourcev1.OCIRepository{} },
		sourcev1.BucketKind:           func() fluxSource { return &sourcev1.Bucket{} },
		sourcev1.ExternalArtifactKind: func() fluxSource { return &sourcev1.ExternalArtifact{} },
	}
}

// flux finds the artifact of one of Flux's sources.
func (s originCluster) flux(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	ref := np.Spec.SourceRef
	at := client.ObjectKey{Namespace: cmp.Or(ref.Namespace, np.Namespace), Name: ref.Name}
	if s.SameNamespace && at.Namespace != np.Namespace {
		return sourceArtifact{}, deniedError{fmt.Sprintf("%s %s is in another namespace, which this controller does not allow",
			ref.Kind, at)}
	}
	source := fluxKinds()[ref.Kind]()
	err := s.Cache.Get(ctx, at, source)
	switch {
	case apimeta.IsNoMatchError(err):
		return sourceArtifact{}, fmt.Errorf("the cluster has no kind %s; install it with flux install --components=source-controller", ref.Kind)
	case apierrors.IsNotFound(err):
		return sourceArtifact{}, fmt.Errorf("%s %s does not exist", ref.Kind, at)
	case err != nil:
		return sourceArtifact{}, fmt.Errorf("get %s %s: %w", ref.Kind, at, err)
	}
	artifact := source.GetArtifact()
	if artifact == nil {
		return sourceArtifact{}, fmt.Errorf("%s %s has no artifact yet: %s",
			ref.Kind, at, conditions.GetMessage(source, meta.ReadyCondition))
	}
	return sourceArtifact{
		Revision: artifact.Revision,
		Origin:   artifact.Metadata["org.opencontainers.image.revision"],
		Verified: isVerified(source),
		Stale:    conditions.IsFalse(source, meta.ReadyCondition),
		Fetch:    func(ctx context.Context, dir string) error { return s.Artifacts.Fetch(ctx, *artifact, dir) },
	}, nil
}

// configMap finds a ConfigMap, each key of which is a file. The revision is the digest of all files.
func (s originCluster) configMap(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	at := client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.ConfigMapRef.Name}
	var source corev1.ConfigMap
	err := s.Reader.Get(ctx, at, &source)
	if apierrors.IsNotFound(err) {
		return sourceArtifact{}, fmt.Errorf("ConfigMap %s does not exist", at)
	}
	if err != nil {
		return sourceArtifact{}, fmt.Errorf("get ConfigMap %s: %w", at, err)
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(source.Data)) {
		fmt.Fprintf(sum, "%q %q\n", name, source.Data[name])
	}
	for _, name := range slices.Sorted(maps.Keys(source.BinaryData)) {
		fmt.Fprintf(sum, "%q %q\n", name, source.BinaryData[name])
	}
	return sourceArtifact{
		Revision: at.Name + "@sha256:" + hex.EncodeToString(sum.Sum(nil)),
		Fetch: func(_ context.Context, dir string) error {
			return errors.Join(isolate.WriteFiles(dir, source.Data), isolate.WriteFiles(dir, source.BinaryData))
		},
	}, nil
}

// isVerified reports whether source-controller has verified a source's signature.
func isVerified(s conditions.Getter) bool {
	return conditions.IsTrue(s, sourcev1.SourceVerifiedCondition)
}

// sourceKey identifies the source object of a NodePlan as kind/namespace/name.
func sourceKey(np *lkeplanv1alpha1.NodePlan) string {
	switch {
	case np.Spec.SourceRef != nil:
		ref := np.Spec.SourceRef
		return ref.Kind + "/" + cmp.Or(ref.Namespace, np.Namespace) + "/" + ref.Name
	case np.Spec.ConfigMapRef != nil:
		return "ConfigMap/" + np.Namespace + "/" + np.Spec.ConfigMapRef.Name
	}
	return ""
}

// sameSource reports whether another NodePlan has the same source as a revision of np: the same
// object, or the same reference or commit of the same repository.
func sameSource(ctx context.Context, cache client.Reader, np *lkeplanv1alpha1.NodePlan, revision string,
	other *lkeplanv1alpha1.NodePlan) bool {
	if key := sourceKey(np); key != "" && key == sourceKey(other) {
		return true
	}
	a, b := repositoryOf(ctx, cache, np), repositoryOf(ctx, cache, other)
	if a.url == "" || a.url != b.url {
		return false
	}
	_, commit, ok := strings.Cut(revision, "@")
	return a.ref == b.ref || ok && strings.HasSuffix(other.Status.LastAttemptedRevision, "@"+commit)
}

// repository is the Git repository of a NodePlan's source; empty if the source is not Git.
type repository struct{ url, ref string }

func repositoryOf(ctx context.Context, cache client.Reader, np *lkeplanv1alpha1.NodePlan) repository {
	ref := np.Spec.SourceRef
	if ref == nil || ref.Kind != sourcev1.GitRepositoryKind {
		return repository{}
	}
	var source sourcev1.GitRepository
	at := client.ObjectKey{Namespace: cmp.Or(ref.Namespace, np.Namespace), Name: ref.Name}
	if cache.Get(ctx, at, &source) != nil {
		return repository{}
	}
	return repository{sameURL(source.Spec.URL), refOf(source.Spec.Reference)}
}

// refOf returns the name of what is checked out. It reads the fields in source-controller's order.
func refOf(ref *sourcev1.GitRepositoryRef) string {
	switch {
	case ref == nil:
		return "branch master"
	case ref.Commit != "":
		return "commit " + ref.Commit
	case ref.Name != "":
		return ref.Name
	case ref.SemVer != "":
		return ref.SemVer
	case ref.Tag != "":
		return "tag " + ref.Tag
	}
	return "branch " + cmp.Or(ref.Branch, "master")
}

// sameURL normalizes the URL of a repository for comparison.
func sameURL(url string) string {
	return strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
}

// sourcePath returns the path of a directory in a source. It cannot leave the source.
func sourcePath(path string) string {
	return cmp.Or(strings.TrimPrefix(filepath.ToSlash(filepath.Clean("/"+path)), "/"), ".")
}
