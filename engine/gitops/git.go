package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5"
	gitconfig "github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/go-git/go-git/v5/storage/memory"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Git asks repositories for their commits, for clusters without Flux.
type Git struct {
	Reader client.Reader // of Secrets
}

// Find implements GitRepositories: it asks which commit a reference is at.
func (g Git) Find(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (Artifact, error) {
	src := np.Spec.Git
	shown, err := url.Parse(src.URL)
	if bad := (*url.Error)(nil); errors.As(err, &bad) {
		return Artifact{}, fmt.Errorf("read the URL of the repository: %w", bad.Err) // without the password that may be in it
	}
	auth, err := g.auth(ctx, np)
	if err != nil {
		return Artifact{}, err
	}
	asking, cancel := context.WithTimeout(ctx, timeout(np))
	defer cancel()
	name, commit, err := resolve(asking, src, auth)
	if err != nil {
		return Artifact{}, fmt.Errorf("ask %s for its commits: %w", shown.Redacted(), err)
	}
	return Artifact{
		Revision: fmt.Sprintf("%s@sha1:%s", name.Short(), commit),
		Origin:   commit.String(),
		Fetch: func(ctx context.Context, dir string) error {
			return fetchCommit(ctx, src.URL, auth, name, commit, dir)
		},
	}, nil
}

// resolve finds the commit of a reference. That of a commit is itself.
func resolve(ctx context.Context, src *lkeplanv1alpha1.GitSource, auth transport.AuthMethod) (plumbing.ReferenceName, plumbing.Hash, error) {
	name := plumbing.NewBranchReferenceName("main")
	if ref := src.Ref; ref != nil {
		switch {
		case ref.Commit != "":
			return plumbing.ReferenceName(ref.Commit[:12]), plumbing.NewHash(ref.Commit), nil
		case ref.Tag != "":
			name = plumbing.NewTagReferenceName(ref.Tag)
		case ref.Branch != "":
			name = plumbing.NewBranchReferenceName(ref.Branch)
		}
	}
	remote := git.NewRemote(memory.NewStorage(), &gitconfig.RemoteConfig{Name: "origin", URLs: []string{src.URL}})
	refs, err := remote.ListContext(ctx, &git.ListOptions{Auth: auth, PeelingOption: git.AppendPeeled})
	if err != nil {
		return "", plumbing.ZeroHash, err
	}
	var found plumbing.Hash
	for _, ref := range refs {
		// An annotated tag is followed by the commit that it is on.
		if ref.Name() == name || strings.TrimSuffix(ref.Name().String(), "^{}") == name.String() {
			found = ref.Hash()
		}
	}
	if found.IsZero() {
		return "", found, fmt.Errorf("it has no %s", name)
	}
	return name, found, nil
}

// fetchCommit puts the useful files of one commit into a directory. Nothing is
// checked out: no hook, filter or submodule is ever run.
func fetchCommit(ctx context.Context, url string, auth transport.AuthMethod, name plumbing.ReferenceName, commit plumbing.Hash, dir string) error {
	plain, err := git.PlainInit(filepath.Join(filepath.Dir(dir), "repository"), true)
	if err != nil {
		return err
	}
	repo, err := git.Open(screening{plain.Storer, filepath.Dir(dir)}, nil)
	if err != nil {
		return err
	}
	remote, err := repo.CreateRemote(&gitconfig.RemoteConfig{Name: "origin", URLs: []string{url}})
	if err != nil {
		return err
	}
	// Not every server gives a commit by its number, so the reference is asked for
	// where there is one. Should it have moved on, the commit is not found.
	from := commit.String()
	if strings.HasPrefix(name.String(), "refs/") {
		from = "+" + name.String()
	}
	spec := gitconfig.RefSpec(from + ":refs/heads/fetched")
	if err := remote.FetchContext(ctx, &git.FetchOptions{RefSpecs: []gitconfig.RefSpec{spec}, Depth: 1, Auth: auth, Tags: git.NoTags}); err != nil {
		return fmt.Errorf("fetch commit %s: %w", commit, err)
	}
	found, err := repo.CommitObject(commit)
	if err != nil {
		return fmt.Errorf("read commit %s: %w", commit, err)
	}
	tree, err := found.Tree()
	if err != nil {
		return fmt.Errorf("read commit %s: %w", commit, err)
	}
	return writeTree(tree, dir)
}

// writeTree writes the useful regular files of a tree. A path that leads out of
// the directory is an error, and so is a link that configuration would be missed
// by.
func writeTree(tree *object.Tree, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	var found tally
	for {
		name, entry, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = writeEntry(root, tree, name, entry, &found)
		}
		if err != nil {
			return err
		}
	}
}

func writeEntry(root *os.Root, tree *object.Tree, name string, entry object.TreeEntry, found *tally) error {
	isFile := entry.Mode.IsFile() && entry.Mode != filemode.Symlink
	if err := found.add(name, isFile && wanted(name)); err != nil {
		return err
	}
	switch {
	case entry.Mode == filemode.Symlink:
		return missing(name)
	case !isFile || !wanted(name):
		return nil
	}
	f, err := tree.TreeEntryFile(&entry)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if f.Size > maxFile {
		return nil
	}
	if found.bytes += f.Size; found.bytes > maxUnpacked {
		return fmt.Errorf("the files of the commit are larger than %d MiB", maxUnpacked>>20)
	}
	if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o700); err != nil {
		return err
	}
	return writeFile(root, name, f)
}

func writeFile(root *os.Root, name string, f *object.File) (err error) {
	from, err := f.Reader()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := root.Create(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	_, err = io.Copy(to, from)
	return err
}

// auth reads the Secret of a repository, by the keys that Flux's have: username
// and password, or identity and known_hosts.
func (g Git) auth(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (transport.AuthMethod, error) {
	if np.Spec.Git.SecretRef == nil {
		return nil, nil
	}
	at := client.ObjectKey{Namespace: np.Namespace, Name: np.Spec.Git.SecretRef.Name}
	var secret corev1.Secret
	if err := g.Reader.Get(ctx, at, &secret); err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", at, err)
	}
	if !strings.HasPrefix(np.Spec.Git.URL, "ssh://") {
		return &githttp.BasicAuth{Username: string(secret.Data["username"]), Password: string(secret.Data["password"])}, nil
	}
	if len(secret.Data["known_hosts"]) == 0 {
		return nil, MissingError{fmt.Sprintf("Secret %s has no known_hosts: the server of an ssh URL must be known", at)}
	}
	keys, err := gitssh.NewPublicKeys("git", secret.Data["identity"], string(secret.Data["password"]))
	if err != nil {
		return nil, fmt.Errorf("read the identity of Secret %s: %w", at, err)
	}
	keys.HostKeyCallback, err = knownHosts(secret.Data["known_hosts"])
	if err != nil {
		return nil, fmt.Errorf("read the known_hosts of Secret %s: %w", at, err)
	}
	return keys, nil
}
