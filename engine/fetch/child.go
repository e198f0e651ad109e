package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	gitclient "github.com/go-git/go-git/v5/plumbing/transport/client"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/sync/semaphore"

	"github.com/lkeplan/lkeplan/engine/confine"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// ChildCommand is the argument that makes a program call ChildMain.
const ChildCommand = "fetch-child"

// DefaultMemory is the memory limit of a fetch, in bytes: three objects of the largest size allowed in
// a repository.
const DefaultMemory int64 = 512 << 20

// Child fetches in a separate process, because a server may answer without end. The process is this
// program, started again to run ChildMain. Package confine documents what it cannot access.
type Child struct {
	Program []string            // the command line that calls ChildMain; empty: this program with ChildCommand
	Retries int                 // of a failed download of an artifact
	Budget  *semaphore.Weighted // the memory of all children, in bytes; nil: no limit
	Memory  int64               // the memory limit of the process, in bytes; 0: DefaultMemory
}

// Remote is a repository on a server, and how to log in to it; nil: without a login.
type Remote struct {
	URL   string
	Login *Login
}

// question is a request to a child: to fetch an artifact or a commit, or else to resolve a reference.
type question struct {
	Artifact *meta.Artifact
	Retries  int
	Remote   Remote
	Ref      lkeplanv1alpha1.GitRef
	Commit   *Commit
	Dir      string
}

type reply struct {
	Commit   Commit
	Error    string // "" for none
	BadLogin bool
}

// Artifact is Artifacts.Fetch in a child.
func (c Child) Artifact(ctx context.Context, artifact meta.Artifact, dir string) error {
	_, err := c.ask(ctx, question{Artifact: &artifact, Retries: c.Retries, Dir: dir}, filepath.Dir(dir), artifact.URL)
	return err
}

// Commit is Repository.Fetch in a child.
func (c Child) Commit(ctx context.Context, remote Remote, commit Commit, dir string) error {
	_, err := c.ask(ctx, question{Remote: remote, Commit: &commit, Dir: dir}, filepath.Dir(dir), remote.URL)
	return err
}

// Resolve is Repository.Resolve in a child. If the reference is a commit already, it starts no child.
func (c Child) Resolve(ctx context.Context, remote Remote, ref lkeplanv1alpha1.GitRef) (Commit, error) {
	if ref.Commit != "" {
		return Repository{}.Resolve(ctx, ref)
	}
	scratch, err := os.MkdirTemp("", "resolve-")
	if err != nil {
		return Commit{}, err
	}
	defer os.RemoveAll(scratch)
	return c.ask(ctx, question{Remote: remote, Ref: ref}, scratch, remote.URL)
}

// ask starts a child that can write to a directory, and connect to the server at a URL.
func (c Child) ask(ctx context.Context, q question, scratch, server string) (Commit, error) {
	limit := time.Hour
	if deadline, ok := ctx.Deadline(); ok {
		limit = time.Until(deadline) + time.Second // later, so that the context ends first and its error is returned
	}
	env, proxies := environment()
	child := confine.Child{
		Program: c.Program, Command: ChildCommand, Time: limit, Memory: cmp.Or(c.Memory, DefaultMemory), Budget: c.Budget,
		Env:   append(env, "TMPDIR="+scratch, "HOME="+scratch),
		Read:  append(resolverFiles(), os.Getenv("SSL_CERT_FILE"), os.Getenv("SSL_CERT_DIR")),
		Write: []string{scratch},
		Ports: portsOf(append(proxies, server, q.Remote.Login.api())...),
	}
	var r reply
	if err := child.Ask(ctx, q, &r); err != nil {
		return Commit{}, fmt.Errorf("fetching %w", err)
	}
	switch {
	case r.BadLogin:
		return r.Commit, badLogin{errors.New(r.Error)}
	case r.Error != "":
		return r.Commit, errors.New(r.Error)
	}
	return r.Commit, nil
}

// resolverFiles are the files needed to resolve the name of a server and to verify its certificate.
func resolverFiles() []string {
	return []string{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/ssl", "/etc/pki"}
}

// environment returns the variables for proxies and certificates, and the URLs of the proxies.
func environment() (env, proxies []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		value := cmp.Or(os.Getenv(name), os.Getenv(strings.ToLower(name)))
		if value == "" {
			continue
		}
		env = append(env, name+"="+value)
		if strings.HasSuffix(name, "S_PROXY") || name == "HTTP_PROXY" {
			proxies = append(proxies, value)
		}
	}
	return env, proxies
}

// portsOf are the TCP ports of URLs, and those of name servers and redirects.
func portsOf(urls ...string) []uint16 {
	ports := []uint16{53, 80, 443}
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			continue // the child reports the error
		}
		if u.Scheme == "ssh" {
			ports = append(ports, 22)
		}
		if port, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
			ports = append(ports, uint16(port))
		}
	}
	return ports
}

// ChildMain fetches what stdin requests. It returns the exit code.
func ChildMain(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	return confine.Answer(stdin, stdout, stderr, func(q question) (reply, error) {
		commit, err := q.answer(ctx)
		if err != nil {
			return reply{Error: err.Error(), BadLogin: IsBadLogin(err)}, nil
		}
		return reply{Commit: commit}, nil
	})
}

func (q question) answer(ctx context.Context) (Commit, error) {
	if q.Artifact != nil {
		return Commit{}, NewArtifacts(q.Retries).Fetch(ctx, *q.Artifact, q.Dir)
	}
	login := q.Remote.Login
	transport, err := trusting(login)
	if err != nil {
		return Commit{}, badLogin{err}
	}
	bounded := githttp.NewClient(&http.Client{Transport: bounding{transport}})
	gitclient.InstallProtocol("http", bounded)
	gitclient.InstallProtocol("https", bounded)
	repository, err := NewRepository(q.Remote.URL, login)
	if err == nil && login != nil && login.App != nil {
		repository.auth, err = login.App.login(ctx, &http.Client{Transport: transport})
	}
	if err != nil && login != nil {
		return Commit{}, badLogin{err}
	}
	if err != nil {
		return Commit{}, err
	}
	if q.Commit != nil {
		return *q.Commit, repository.Fetch(ctx, *q.Commit, q.Dir)
	}
	return repository.Resolve(ctx, q.Ref)
}

// trusting returns a transport that trusts the certificates of a login.
func trusting(login *Login) (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if login == nil || len(login.CA) == 0 {
		return transport, nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(login.CA) {
		return nil, errors.New("its ca.crt contains no PEM certificate")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}

// badLogin is an error of the login.
type badLogin struct{ error }

// IsBadLogin reports whether an error means that a login is unusable, regardless of the server.
func IsBadLogin(err error) bool {
	_, bad := errors.AsType[badLogin](err)
	return bad
}

// maxReferences is the maximum length of a repository's list of references, in bytes.
const maxReferences = 16 << 20

// bounding limits the answers of a Git server over HTTP.
type bounding struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounding) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(req)
	if err != nil {
		return answer, err
	}
	most := int64(maxPack + maxReferences)
	if strings.HasSuffix(req.URL.Path, "/info/refs") {
		most = maxReferences
	}
	answer.Body = &boundedBody{answer.Body, most}
	return answer, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer of the server is too long: a list of references can have up to %d MiB, and a pack "+
			"up to %d MiB", maxReferences>>20, maxPack>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
