package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/opencontainers/go-digest"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// send makes a request that must succeed.
func send(t testing.TB, method, url, contentType string, body []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		said, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s %s: %s\n%s", method, url, answer.Status, said)
	}
}

// oci is a registry on loopback.
type oci struct {
	t   testing.TB
	url string
}

func startRegistry(t testing.TB) oci {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return oci{t, server.URL}
}

// push stores an archive as flux push artifact does, made from a commit, and
// returns the digest of its manifest.
func (o oci) push(archive []byte, commit string) digest.Digest {
	o.t.Helper()
	blob := func(mediaType string, content []byte) map[string]any {
		sum := digest.FromBytes(content)
		send(o.t, http.MethodPost, o.url+"/v2/fleet/blobs/uploads/?digest="+sum.String(), "application/octet-stream", content)
		return map[string]any{"mediaType": mediaType, "size": len(content), "digest": sum}
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.oci.image.manifest.v1+json",
		"config":        blob("application/vnd.cncf.flux.config.v1+json", []byte("{}")),
		"layers":        []any{blob("application/vnd.cncf.flux.content.v1.tar+gzip", archive)},
		"annotations":   map[string]string{"org.opencontainers.image.revision": "main@sha1:" + commit},
	})
	if err != nil {
		o.t.Fatal(err)
	}
	send(o.t, http.MethodPut, o.url+"/v2/fleet/manifests/main", "application/vnd.oci.image.manifest.v1+json", manifest)
	return digest.FromBytes(manifest)
}

const ociRepository = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: fleet, namespace: default}
spec: {interval: 1h, url: "oci://HOST/fleet", insecure: true, ref: {tag: main}}
`

const bucket = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: Bucket
metadata: {name: fleet, namespace: default}
spec: {interval: 1h, endpoint: "HOST", insecure: true, region: us-ord-1, bucketName: fleet}
`

const nodePlanOfFlux = `
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: fleet, namespace: default}
spec:
  interval: 1h
  sourceRef: {kind: KIND, name: fleet}
`

// weighs reports whether a NodePlan is ready and its pools have a weight.
func (s *sandbox) weighs(weight int) func(*lkeplanv1alpha1.NodePlan) bool {
	return func(np *lkeplanv1alpha1.NodePlan) bool {
		if !because(lkeplanv1alpha1.ReasonSucceeded)(np) {
			return false
		}
		pools := s.poolsByName()
		for _, pool := range pools {
			if pool.Spec.Weight == nil || int(*pool.Spec.Weight) != weight {
				return false
			}
		}
		return len(pools) == 2
	}
}

// TestAPushBecomesPoolsThroughFlux: what is pushed to a registry is applied, with the
// commit that it was made from.
func TestAPushBecomesPoolsThroughFlux(t *testing.T) {
	t.Parallel()
	f := &fluxed{sandbox: startSandbox(t, "--flux")}
	f.installCRDs()
	f.startController()
	images := startRegistry(t)
	f.kube(strings.ReplaceAll(ociRepository, "HOST", strings.TrimPrefix(images.url, "http://"))+
		"---"+strings.ReplaceAll(nodePlanOfFlux, "KIND", "OCIRepository"), "apply", "-f", "-")
	for i, weight := range []int{10, 20} {
		commit := fmt.Sprintf("%040d", i+1)
		sum := images.push(pack(t, weighing(weight)), commit)
		f.ask("ocirepository")
		np := f.untilPlan("fleet", fmt.Sprintf("the weight is %d, by %s", weight, sum),
			func(np *lkeplanv1alpha1.NodePlan) bool {
				return np.Status.LastAppliedRevision == "main@"+sum.String() && f.weighs(weight)(np)
			})
		if got := np.Status.LastAppliedOriginRevision; got != "main@sha1:"+commit {
			t.Errorf("what is applied was made from %s, want %s", got, commit)
		}
	}
}

// TestAnUploadBecomesPoolsThroughFlux: an upload to a bucket is applied, and so is its
// replacement.
func TestAnUploadBecomesPoolsThroughFlux(t *testing.T) {
	t.Parallel()
	f := &fluxed{sandbox: startSandbox(t, "--flux")}
	f.installCRDs()
	f.startController()
	objects := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(objects.Close)
	send(t, http.MethodPut, objects.URL+"/fleet", "", nil)
	f.kube(strings.ReplaceAll(bucket, "HOST", strings.TrimPrefix(objects.URL, "http://"))+
		"---"+strings.ReplaceAll(nodePlanOfFlux, "KIND", "Bucket"), "apply", "-f", "-")
	last := ""
	for _, weight := range []int{10, 20} {
		send(t, http.MethodPut, objects.URL+"/fleet/main.lke.hcl", "text/plain", []byte(weighing(weight).text))
		send(t, http.MethodPut, objects.URL+"/fleet/README.md", "text/plain", []byte("not for lkeplan"))
		f.ask("bucket")
		np := f.untilPlan("fleet", fmt.Sprintf("the weight is %d, by another revision", weight),
			func(np *lkeplanv1alpha1.NodePlan) bool {
				return np.Status.LastAppliedRevision != last && f.weighs(weight)(np)
			})
		last = np.Status.LastAppliedRevision
		if !strings.HasPrefix(last, "sha256:") {
			t.Errorf("revision %q is none of a bucket", last)
		}
	}
}
