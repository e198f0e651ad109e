package fetch

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
	"golang.org/x/crypto/ssh"

	"github.com/lkeplan/lkeplan/schemas"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Repository is a Git repository on a server.
type Repository struct {
	URL  string
	auth transport.AuthMethod
}

// Login is how to log in to a server. Over ssh: with the private key Identity, which Password may
// encrypt, to one of KnownHosts. Otherwise: with Bearer, as App, or with Username and Password, to a
// server with a certificate that a certificate in CA has signed.
type Login struct {
	Username, Password   string
	Identity, KnownHosts []byte
	Bearer               string
	App                  *App
	CA                   []byte // PEM; nil: the certificates that the system trusts
}

// secret reports whether the login contains a secret.
func (l *Login) secret() bool { return l.Username+l.Password+l.Bearer != "" || l.App != nil }

// NewRepository returns the repository at a URL. The login is nil for a public repository. The error
// names the part of the login or URL that is unusable, and contains no password.
func NewRepository(at string, login *Login) (Repository, error) {
	_, err := url.Parse(at)
	if bad := (*url.Error)(nil); errors.As(err, &bad) {
		return Repository{}, fmt.Errorf("read the URL of the repository: %w", bad.Err) // it may hold a password
	}
	if login == nil {
		return Repository{URL: at}, nil
	}
	switch {
	case strings.HasPrefix(at, "ssh://"):
		return overSSH(at, login)
	case !login.secret():
		return Repository{URL: at}, nil
	case !strings.HasPrefix(at, "https://"):
		return Repository{}, errors.New("it would be sent unencrypted: use a repository URL that starts with " +
			"https://")
	case login.Bearer != "":
		return Repository{at, &githttp.TokenAuth{Token: login.Bearer}}, nil
	}
	return Repository{at, &githttp.BasicAuth{Username: login.Username, Password: login.Password}}, nil
}

func overSSH(at string, login *Login) (Repository, error) {
	if len(login.KnownHosts) == 0 {
		return Repository{}, errors.New("it has no known_hosts, which an ssh URL requires")
	}
	keys, err := gitssh.NewPublicKeys("git", login.Identity, login.Password)
	if err != nil {
		return Repository{}, fmt.Errorf("read the identity: %w", err)
	}
	if keys.HostKeyCallback, err = knownHosts(login.KnownHosts); err != nil {
		return Repository{}, fmt.Errorf("read the known_hosts: %w", err)
	}
	return Repository{at, keys}, nil
}

// Commit is a commit, and the reference or short hash by which it was found.
type Commit struct {
	Name plumbing.ReferenceName
	Hash plumbing.Hash
}

// Resolve requests the commit of a reference from the server. An empty reference is the branch main.
// If the reference names a commit, no request is sent.
func (r Repository) Resolve(ctx context.Context, ref lkeplanv1alpha1.GitRef) (Commit, error) {
	name := plumbing.NewBranchReferenceName("main")
	switch {
	case ref.Commit != "":
		return Commit{plumbing.ReferenceName(ref.Commit[:12]), plumbing.NewHash(ref.Commit)}, nil
	case ref.Tag != "":
		name = plumbing.NewTagReferenceName(ref.Tag)
	case ref.Branch != "":
		name = plumbing.NewBranchReferenceName(ref.Branch)
	}
	remote := git.NewRemote(memory.NewStorage(), &gitconfig.RemoteConfig{Name: "origin", URLs: []string{r.URL}})
	refs, err := remote.ListContext(ctx, &git.ListOptions{Auth: r.auth, PeelingOption: git.AppendPeeled})
	if err != nil {
		return Commit{}, fmt.Errorf("list the references of %s: %w", r.redacted(), err)
	}
	var found plumbing.Hash
	for _, ref := range refs {
		// An annotated tag is followed by its commit.
		if ref.Name() == name || strings.TrimSuffix(ref.Name().String(), "^{}") == name.String() {
			found = ref.Hash()
		}
	}
	if found.IsZero() {
		return Commit{}, fmt.Errorf("list the references of %s: it has no %s", r.redacted(), name)
	}
	return Commit{name, found}, nil
}

// redacted is the URL without its password.
func (r Repository) redacted() string {
	shown, err := url.Parse(r.URL)
	if err != nil {
		return "the repository" // an scp-like path, or one that NewRepository has not checked
	}
	return shown.Redacted()
}

// Fetch writes the readable files of one commit into a directory, and temporarily the objects of the
// repository next to it. Nothing is checked out: no hook or filter runs, and submodules are ignored.
func (r Repository) Fetch(ctx context.Context, commit Commit, dir string) error {
	objects := filepath.Join(filepath.Dir(dir), "repository")
	defer os.RemoveAll(objects)
	repo, err := r.fetchObjects(ctx, commit, objects)
	if err != nil {
		return err
	}
	found, err := repo.CommitObject(commit.Hash)
	if err != nil {
		return fmt.Errorf("read commit %s: %w", commit.Hash, err)
	}
	tree, err := found.Tree()
	if err != nil {
		return fmt.Errorf("read commit %s: %w", commit.Hash, err)
	}
	return writeTree(tree, dir)
}

// fetchObjects fetches a commit without its history into a directory.
func (r Repository) fetchObjects(ctx context.Context, commit Commit, dir string) (*git.Repository, error) {
	plain, err := git.PlainInit(dir, true)
	if err != nil {
		return nil, err
	}
	repo, err := git.Open(screening{plain.Storer, dir}, nil)
	if err != nil {
		return nil, err
	}
	remote, err := repo.CreateRemote(&gitconfig.RemoteConfig{Name: "origin", URLs: []string{r.URL}})
	if err != nil {
		return nil, err
	}
	// Not every server sends a commit by its hash, so the reference is requested if there is one. If
	// it has moved since, the commit is not found.
	from := commit.Hash.String()
	if strings.HasPrefix(commit.Name.String(), "refs/") {
		from = "+" + commit.Name.String()
	}
	spec := gitconfig.RefSpec(from + ":refs/heads/fetched")
	opts := &git.FetchOptions{RefSpecs: []gitconfig.RefSpec{spec}, Depth: 1, Auth: r.auth, Tags: git.NoTags}
	if err := remote.FetchContext(ctx, opts); err != nil {
		return nil, fmt.Errorf("fetch commit %s: %w", commit.Hash, err)
	}
	return repo, nil
}

// writeTree writes the readable regular files of a tree. A path that leaves the directory is an error.
// Files that are too large, links and submodules become barriers.
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
	barred := entry.Mode == filemode.Symlink || entry.Mode == filemode.Submodule
	useful := barred || entry.Mode.IsFile() && schemas.Readable(name)
	if err := found.add(name, useful); err != nil || !useful {
		return err
	}
	if barred {
		return barrier{name, true}.put(root)
	}
	f, err := tree.TreeEntryFile(&entry)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if f.Size > maxFile {
		return barrier{name, false}.put(root)
	}
	if found.bytes += f.Size; found.bytes > maxUnpacked {
		return fmt.Errorf("the files of the commit are larger than %d MiB", maxUnpacked>>20)
	}
	if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o700); err != nil {
		return err
	}
	content, err := f.Contents()
	if err != nil {
		return err
	}
	return root.WriteFile(filepath.FromSlash(name), []byte(content), 0o666)
}

// knownHosts returns a check of servers by the text of a known_hosts file. The library reads only
// files.
func knownHosts(text []byte) (callback ssh.HostKeyCallback, err error) {
	file, err := os.CreateTemp("", "known_hosts-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if _, err := file.Write(text); err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return gitssh.NewKnownHostsCallback(file.Name())
}
