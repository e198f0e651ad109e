package gitops

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

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
