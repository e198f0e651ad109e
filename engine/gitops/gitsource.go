package gitops

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/engine/fetch"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// git finds the commit of a repository for a NodePlan with spec.git, for clusters without Flux.
func (s originCluster) git(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	login, err := s.login(ctx, np)
	if err != nil {
		return sourceArtifact{}, err
	}
	remote := fetch.Remote{URL: np.Spec.Git.URL, Login: login}
	var ref lkeplanv1alpha1.GitRef
	if named := np.Spec.Git.Ref; named != nil {
		ref = *named
	}
	commit, err := s.Fetcher.Resolve(ctx, remote, ref)
	if fetch.IsBadLogin(err) {
		return sourceArtifact{}, fmt.Errorf("use Secret %s: %w", np.Spec.Git.SecretRef.Name, err)
	}
	if err != nil {
		return sourceArtifact{}, err
	}
	return sourceArtifact{
		Revision: fmt.Sprintf("%s@sha1:%s", commit.Name.Short(), commit.Hash),
		Origin:   commit.Hash.String(),
		Fetch:    func(ctx context.Context, dir string) error { return s.Fetcher.Commit(ctx, remote, commit, dir) },
	}, nil
}

// login reads the Secret of a repository, with the keys that Flux reads. It returns nil if the
// NodePlan names none.
func (s originCluster) login(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (*fetch.Login, error) {
	if np.Spec.Git.SecretRef == nil {
		return nil, nil
	}
	at := client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.Git.SecretRef.Name}
	var secret corev1.Secret
	if err := s.Reader.Get(ctx, at, &secret); err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", at, err)
	}
	login := &fetch.Login{
		Username: string(secret.Data["username"]), Password: string(secret.Data["password"]),
		Identity: secret.Data["identity"], KnownHosts: secret.Data["known_hosts"],
		Bearer: string(secret.Data["bearerToken"]), CA: secret.Data["ca.crt"],
	}
	if id := string(secret.Data["githubAppID"]); id != "" {
		login.App = &fetch.App{
			ID: id, Installation: string(secret.Data["githubAppInstallationID"]),
			Key: secret.Data["githubAppPrivateKey"], API: string(secret.Data["githubAppBaseURL"]),
		}
	}
	return login, nil
}
