package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/fetch"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// ClusterSources finds sources in a cluster: those of Flux's source-controller,
// ConfigMaps, and repositories that are asked directly.
type ClusterSources struct {
	Client client.Client // with a cache of Flux's sources
	Reader client.Reader // without a cache, for ConfigMaps and Secrets
	Fetch  func(ctx context.Context, artifact meta.Artifact, dir string) error
	// SameNamespace forbids sources of other namespaces.
	SameNamespace bool
}

// Find implements Sources.
func (s ClusterSources) Find(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (Artifact, error) {
	switch {
	case np.Spec.SourceRef != nil:
		return s.flux(ctx, np)
	case np.Spec.ConfigMapRef != nil:
		return s.configMap(ctx, np)
	case np.Spec.Git != nil:
		return s.git(ctx, np)
	}
	return Artifact{}, errNoSource // the definition lets none such pass
}

// fluxSource is what Flux's kinds of sources have in common.
type fluxSource interface {
	client.Object
	conditions.Getter
	sourcev1.Source
}

// kindsOfSource are Flux's kinds of sources.
func kindsOfSource() map[string]func() fluxSource {
	return map[string]func() fluxSource{
		sourcev1.GitRepositoryKind:    func() fluxSource { return &sourcev1.GitRepository{} },
		sourcev1.OCIRepositoryKind:    func() fluxSource { return &sourcev1.OCIRepository{} },
		sourcev1.BucketKind:           func() fluxSource { return &sourcev1.Bucket{} },
		sourcev1.ExternalArtifactKind: func() fluxSource { return &sourcev1.ExternalArtifact{} },
	}
}

// flux finds the artifact of one of Flux's sources.
func (s ClusterSources) flux(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (Artifact, error) {
	ref := np.Spec.SourceRef
	at := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	if at.Namespace == "" {
		at.Namespace = np.Namespace
	}
	if s.SameNamespace && at.Namespace != np.Namespace {
		return Artifact{}, DeniedError{fmt.Sprintf("%s %s is in another namespace, which this controller was told not to allow", ref.Kind, at)}
	}
	source := kindsOfSource()[ref.Kind]()
	err := s.Client.Get(ctx, at, source)
	switch {
	case apimeta.IsNoMatchError(err):
		return Artifact{}, MissingError{fmt.Sprintf("the cluster has no kind %s: is Flux installed?", ref.Kind)}
	case apierrors.IsNotFound(err):
		return Artifact{}, MissingError{fmt.Sprintf("there is no %s %s", ref.Kind, at)}
	case err != nil:
		return Artifact{}, fmt.Errorf("get %s %s: %w", ref.Kind, at, err)
	}
	artifact := source.GetArtifact()
	if artifact == nil {
		return Artifact{}, MissingError{fmt.Sprintf("%s %s has nothing to fetch yet: %s", ref.Kind, at, conditions.GetMessage(source, meta.ReadyCondition))}
	}
	return Artifact{
		Revision: artifact.Revision,
		Origin:   artifact.Metadata["org.opencontainers.image.revision"],
		Verified: conditions.IsTrue(source, sourcev1.SourceVerifiedCondition),
		Fetch:    func(ctx context.Context, dir string) error { return s.Fetch(ctx, *artifact, dir) },
	}, nil
}

// configMap takes each key of a ConfigMap for a file. Its revision is a digest
// of them.
func (s ClusterSources) configMap(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (Artifact, error) {
	at := client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.ConfigMapRef.Name}
	var source corev1.ConfigMap
	err := s.Reader.Get(ctx, at, &source)
	if apierrors.IsNotFound(err) {
		return Artifact{}, MissingError{fmt.Sprintf("there is no ConfigMap %s", at)}
	}
	if err != nil {
		return Artifact{}, fmt.Errorf("get ConfigMap %s: %w", at, err)
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(source.Data)) {
		fmt.Fprintf(sum, "%q %q\n", name, source.Data[name])
	}
	return Artifact{
		Revision: at.Name + "@sha256:" + hex.EncodeToString(sum.Sum(nil)),
		Fetch: func(_ context.Context, dir string) error {
			for name, content := range source.Data {
				if !fetch.Readable(name, int64(len(content))) {
					continue
				}
				// A key has no slashes, so it is a name in the directory.
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}
