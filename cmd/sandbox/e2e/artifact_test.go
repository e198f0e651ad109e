package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// packed is a file of an archive, or a link, whose text is its target.
type packed struct {
	name, text string
	link       byte // a type of link; 0 for a file
}

// pack makes an archive as sources do.
func pack(t testing.TB, files ...packed) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	w := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(f.text))}
		if f.link != 0 {
			header.Typeflag, header.Linkname, header.Size = f.link, f.text, 0
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if f.link == 0 {
			if _, err := w.Write([]byte(f.text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// publisher stands for a controller that makes ExternalArtifacts. It serves what a
// test gives it, and may lie about it.
type publisher struct {
	*sandbox
	url      string
	answers  sync.Map // by path, an http.HandlerFunc
	revision int
}

func startPublisher(s *sandbox) *publisher {
	s.t.Helper()
	p := &publisher{sandbox: s}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer, ok := p.answers.Load(r.URL.Path); ok {
			answer.(http.HandlerFunc)(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	s.t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// publish announces the next revision with a digest and an address, which gives the
// answer.
func (p *publisher) publish(sum digest.Digest, answer http.HandlerFunc) (revision, path string) {
	p.t.Helper()
	p.revision++
	path = fmt.Sprintf("/fleet/%d.tar.gz", p.revision)
	p.answers.Store(path, answer)
	revision = fmt.Sprintf("v%d@%s", p.revision, sum)
	status, err := json.Marshal(map[string]any{"status": map[string]any{"artifact": map[string]any{
		"digest": sum, "lastUpdateTime": "2026-11-20T08:00:00Z", "path": path, "revision": revision, "url": p.url + path,
	}}})
	if err != nil {
		p.t.Fatal(err)
	}
	artifact := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "default",
		"name": "fleet"}}}
	artifact.SetGroupVersionKind(sourcev1.GroupVersion.WithKind(sourcev1.ExternalArtifactKind))
	if err := p.client.Status().Patch(p.t.Context(), artifact, client.RawPatch(types.MergePatchType, status)); err != nil {
		p.t.Fatal(err)
	}
	return revision, path
}

// sends answers with a body.
func sends(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }
}

// reached waits until a revision is reconciled with a reason.
func (p *publisher) reached(revision, reason string) *lkeplanv1alpha1.NodePlan {
	p.t.Helper()
	return p.untilPlan("fleet", "revision "+revision+" ends with "+reason, func(np *lkeplanv1alpha1.NodePlan) bool {
		return np.Status.LastAttemptedRevision == revision && because(reason)(np)
	})
}

// applied is the spec and the identity of each object of the NodePlans.
func (s *sandbox) applied() map[string]any {
	s.t.Helper()
	all := map[string]any{}
	for _, kind := range []schema.GroupVersionKind{{Group: "karpenter.sh", Version: "v1", Kind: "NodePoolList"},
		{Group: "karpenter.k8s.linode", Version: "v1", Kind: "LinodeNodeClassList"}} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := s.client.List(s.t.Context(), &list); err != nil {
			s.t.Fatal(err)
		}
		for _, obj := range list.Items {
			all[manifest.KeyOf(obj.Object).String()] = []any{obj.GetUID(), obj.GetDeletionTimestamp(), obj.GetLabels(),
				obj.Object["spec"]}
		}
	}
	return all
}

const externalArtifactAndNodePlan = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: ExternalArtifact
metadata: {name: fleet, namespace: default}
spec: {}
---
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: fleet, namespace: default}
spec:
  interval: 1h
  retryInterval: 1s
  timeout: 5s
  sourceRef: {kind: ExternalArtifact, name: fleet}
`

// TestAHostileArtifactChangesNothing: the HCL of each changes one pool and deletes
// another. None is applied, the condition says why, and the good one that follows is
// applied without help.
func TestAHostileArtifactChangesNothing(t *testing.T) {
	t.Parallel()
	p := startPublisher(startSandbox(t, "--flux"))
	p.installCRDs()
	p.startController("--http-retry", "0")
	p.kube(externalArtifactAndNodePlan, "apply", "-f", "-")
	p.untilPlan("fleet", "it waits for its first artifact", because(lkeplanv1alpha1.ReasonArtifactFailed))
	first := pack(t, weighing(10))
	revision, _ := p.publish(digest.FromBytes(first), sends(first))
	p.reached(revision, lkeplanv1alpha1.ReasonSucceeded)
	p.outlivesArtifacts()
	p.outlivesServers()
}

// weighing is a configuration of two pools with a weight.
func weighing(weight int) packed {
	return packed{name: "main.lke.hcl", text: strings.ReplaceAll(fleet("", "a", "b"), "= 10", fmt.Sprintf("= %d", weight))}
}

// outlivesArtifacts publishes artifacts that are bad, and a good one after each.
func (p *publisher) outlivesArtifacts() {
	t := p.t
	t.Helper()
	evil := packed{name: "main.lke.hcl", text: strings.ReplaceAll(fleet("", "a"), "= 10", "= 99")}
	bomb := []packed{evil}
	for i := range 200 {
		bomb = append(bomb, packed{name: fmt.Sprintf("bomb%d.json", i), text: strings.Repeat(" ", 200<<10)})
	}
	for i, tt := range []struct {
		name   string
		body   []byte
		sum    digest.Digest // "": that of the body
		reason string
		says   string
	}{
		{name: "another digest", body: pack(t, evil), sum: digest.FromString("another"),
			reason: lkeplanv1alpha1.ReasonArtifactFailed, says: "the digest of the artifact is not sha256:"},
		{name: "a digest of no known kind", body: pack(t, evil), sum: "md5:d41d8cd98f00b204e9800998ecf8427e",
			reason: lkeplanv1alpha1.ReasonArtifactFailed, says: "has no valid digest"},
		{name: "a path that leads out", body: pack(t, evil, packed{name: "../../escaped.lke.hcl", text: "x"}),
			reason: lkeplanv1alpha1.ReasonArtifactFailed, says: "../../escaped.lke.hcl"},
		{name: "a path from the root", body: pack(t, evil, packed{name: "/tmp/escaped.lke.hcl", text: "x"}),
			reason: lkeplanv1alpha1.ReasonArtifactFailed, says: "/tmp/escaped.lke.hcl"},
		{name: "a symbolic link", body: pack(t, evil, packed{"more.lke.hcl", "/etc/passwd", tar.TypeSymlink}),
			reason: lkeplanv1alpha1.ReasonCompileFailed, says: "more.lke.hcl is a symbolic link, behind one or in a submodule"},
		{name: "a hard link", body: pack(t, evil, packed{"more.lke.hcl", "main.lke.hcl", tar.TypeLink}),
			reason: lkeplanv1alpha1.ReasonCompileFailed, says: "more.lke.hcl is a symbolic link, behind one or in a submodule"},
		{name: "a file that is too large", body: pack(t, evil, packed{name: "more.lke.hcl",
			text: fleetPools("b") + strings.Repeat("#\n", 200<<10)}),
			reason: lkeplanv1alpha1.ReasonCompileFailed, says: "more.lke.hcl"},
		{name: "a bomb", body: pack(t, bomb...), reason: lkeplanv1alpha1.ReasonArtifactFailed, says: "bigger than"},
		{name: "no archive", body: []byte("<html>Sign in</html>"), reason: lkeplanv1alpha1.ReasonArtifactFailed,
			says: "gzip"},
		{name: "no configuration", body: pack(t, packed{name: "README.md", text: "x"}),
			reason: lkeplanv1alpha1.ReasonCompileFailed, says: "no "},
	} {
		if tt.sum == "" {
			tt.sum = digest.FromBytes(tt.body)
		}
		p.refuses(tt.name, tt.reason, tt.says, func() string {
			revision, _ := p.publish(tt.sum, sends(tt.body))
			return revision
		})
		good := pack(t, weighing(20+i))
		revision, _ := p.publish(digest.FromBytes(good), sends(good))
		p.recovers(tt.name, revision, 20+i)
	}
}

// outlivesServers publishes good artifacts on servers that are bad, and become
// good.
func (p *publisher) outlivesServers() {
	t := p.t
	t.Helper()
	for i, tt := range []struct {
		name   string
		answer func(body []byte) http.HandlerFunc
		says   string
	}{
		{"nothing there", func([]byte) http.HandlerFunc { return http.NotFound }, "404 Not Found"},
		{"half of it", func(body []byte) http.HandlerFunc { return sends(body[:len(body)/2]) }, "the digest of the artifact is not"},
		{"a server that hangs", func([]byte) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}, "deadline exceeded"},
	} {
		body := pack(t, weighing(50+i))
		var path string
		revision := p.refuses(tt.name, lkeplanv1alpha1.ReasonArtifactFailed, tt.says, func() (revision string) {
			revision, path = p.publish(digest.FromBytes(body), tt.answer(body))
			return revision
		})
		p.answers.Store(path, sends(body))
		p.recovers(tt.name, revision, 50+i)
	}
}

// refuses publishes a revision that must not be applied: nothing changes, and the
// condition says why.
func (p *publisher) refuses(what, reason, says string, publish func() (revision string)) string {
	p.t.Helper()
	before, status := p.applied(), p.nodePlan("fleet").Status
	revision := publish()
	np := p.reached(revision, reason)
	mustContain(p.t, conditions.GetMessage(np, meta.ReadyCondition), revision, says)
	if diff := cmp.Diff(before, p.applied()); diff != "" {
		p.t.Errorf("%s: the objects have changed (-before +after):\n%s", what, diff)
	}
	if np.Status.LastAppliedRevision != status.LastAppliedRevision || len(np.Status.Inventory) != len(status.Inventory) {
		p.t.Errorf("%s: %s was last applied, with %v", what, np.Status.LastAppliedRevision, np.Status.Inventory)
	}
	return revision
}

// recovers waits until a revision is applied without help.
func (p *publisher) recovers(from, revision string, weight int) {
	p.t.Helper()
	// The conditions of a status are written before the rest of it.
	np := p.untilPlan("fleet", "revision "+revision+" is applied", func(np *lkeplanv1alpha1.NodePlan) bool {
		return np.Status.LastAppliedRevision == revision && because(lkeplanv1alpha1.ReasonSucceeded)(np)
	})
	if conditions.IsReconciling(np) || conditions.IsStalled(np) || len(np.Status.Inventory) != 3 {
		p.t.Errorf("after %s: %+v", from, np.Status)
	}
	for name, pool := range p.poolsByName() {
		if got := pool.Spec.Weight; got == nil || int(*got) != weight {
			p.t.Errorf("after %s the weight of pool %s is %v, want %d", from, name, got, weight)
		}
	}
}
