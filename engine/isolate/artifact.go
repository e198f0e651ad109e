package isolate

import (
	"context"
	_ "crypto/sha512" // for go-digest
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/opencontainers/go-digest"
)

// maxArtifact is the maximum size of a compressed artifact, in bytes.
const maxArtifact = 10 << 20

// Artifacts downloads the artifacts of source-controller.
type Artifacts struct{ client *retryablehttp.Client }

// NewArtifacts returns Artifacts that retry a failed download up to the given number of times.
func NewArtifacts(retries int) Artifacts {
	c := retryablehttp.NewClient()
	c.RetryMax, c.Logger = retries, nil
	c.HTTPClient = &http.Client{Transport: http.DefaultTransport}
	return Artifacts{c}
}

// Fetch writes the readable files of an artifact into a directory, and temporarily the archive next to
// it. An artifact that is larger than 10 MiB, or does not match its digest, is an error and is not
// unpacked.
func (a Artifacts) Fetch(ctx context.Context, artifact meta.Artifact, dir string) error {
	want, err := digest.Parse(artifact.Digest)
	if err != nil {
		return fmt.Errorf("the artifact has no valid digest: %q: %w", artifact.Digest, err)
	}
	archive, err := os.Create(filepath.Join(filepath.Dir(dir), "artifact.tar.gz"))
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	if err := a.download(ctx, artifact.URL, archive, want); err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return Unpack(archive, dir)
}

func (a Artifacts) download(ctx context.Context, url string, into io.Writer, want digest.Digest) error {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, answer.Status)
	}
	verifier := want.Verifier()
	n, err := io.Copy(io.MultiWriter(into, verifier), io.LimitReader(answer.Body, maxArtifact+1))
	switch {
	case err != nil:
		return fmt.Errorf("GET %s: %w", url, err)
	case n > maxArtifact:
		return fmt.Errorf("GET %s: the artifact is larger than %d MiB; exclude files that are not needed from the source",
			url, maxArtifact>>20)
	case !verifier.Verified():
		return fmt.Errorf("GET %s: the digest of the artifact is not %s", url, want)
	}
	return nil
}
