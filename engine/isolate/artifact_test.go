package isolate

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
)

// entry is one entry of an archive; of a link, content is where it leads.
type entry struct {
	name, content string
	kind          byte
	size          int64 // that the header claims; 0: that of the content
}

func packed(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	compressed := gzip.NewWriter(&b)
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Typeflag: e.kind}
		switch e.kind {
		case tar.TypeSymlink, tar.TypeLink:
			header.Linkname = e.content
		default:
			header.Typeflag, header.Size = tar.TypeReg, max(e.size, int64(len(e.content)))
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := w.Write(append([]byte(e.content), make([]byte, header.Size-int64(len(e.content)))...)); err != nil {
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

// TestFetch: what an artifact holds, and what of it is in the directory after.
func TestFetch(t *testing.T) {
	good := entry{name: "clusters/dev/main.lke.hcl", content: "cluster {}\n"}
	bomb := make([]entry, 0, 200)
	for i := range 200 {
		bomb = append(bomb, entry{name: fmt.Sprintf("f%d.hcl", i), size: 200 << 10})
	}
	swarm := make([]entry, maxEntries+1)
	for i := range swarm {
		swarm[i].name = fmt.Sprintf("%d.png", i)
	}
	noise := make([]byte, maxArtifact+1)
	for i := range noise {
		noise[i] = byte(i * 2654435761 >> 7)
	}
	tests := []struct {
		name   string
		body   []byte
		digest string // "": the right one
		want   []string
		barred []string // there, and not to be read by a compilation
		err    string
	}{
		{name: "what is useful", body: packed(t, good, entry{name: "README.md", content: "x"}, entry{name: "data/teams.yaml", content: "a: 1"}), want: []string{"clusters/dev/main.lke.hcl", "data/teams.yaml"}},
		{name: "another digest", body: packed(t, good), digest: "sha256:" + strings.Repeat("0", 64), err: "the digest of the artifact is not"},
		{name: "no digest", body: packed(t, good), digest: "none", err: "no valid digest"},
		{name: "a path that leads out", body: packed(t, good, entry{name: "../escaped.hcl", content: "x"}), err: "unpack"},
		{name: "an absolute path", body: packed(t, entry{name: "/etc/escaped.hcl", content: "x"}), err: "unpack"},
		{name: "a symbolic link is barred", body: packed(t, good, entry{name: "link.hcl", content: "/etc/passwd", kind: tar.TypeSymlink}), want: []string{"clusters/dev/main.lke.hcl"}, barred: []string{"link.hcl"}},
		{name: "a file through a link", body: packed(t, entry{name: "dir", content: "/tmp", kind: tar.TypeSymlink}, entry{name: "dir/escaped.hcl", content: "x"}), err: "not empty"},
		{name: "a hard link is barred", body: packed(t, good, entry{name: "hard.hcl", content: "/etc/passwd", kind: tar.TypeLink}), want: []string{"clusters/dev/main.lke.hcl"}, barred: []string{"hard.hcl"}},
		{name: "a link to configuration is barred", body: packed(t, good, entry{name: "a/more.lke.hcl", content: "../clusters/dev/main.lke.hcl", kind: tar.TypeSymlink}), want: []string{"clusters/dev/main.lke.hcl"}, barred: []string{"a/more.lke.hcl"}},
		{name: "a link to values is barred", body: packed(t, good, entry{name: "prod.auto.lkevars.hcl", content: "a", kind: tar.TypeSymlink}), want: []string{"clusters/dev/main.lke.hcl"}, barred: []string{"prod.auto.lkevars.hcl"}},
		{name: "a link after a file of its name is barred", body: packed(t, good, entry{name: "a.lke.hcl", content: "x"}, entry{name: "./a.lke.hcl", content: "x", kind: tar.TypeLink}), want: []string{"clusters/dev/main.lke.hcl"}, barred: []string{"a.lke.hcl"}},
		{name: "a file that is too large is barred", body: packed(t, good, entry{name: "pools.lke.hcl", size: maxFile + 1}), want: []string{"clusters/dev/main.lke.hcl"}, barred: []string{"pools.lke.hcl"}},
		{name: "a link that may be to a directory", body: packed(t, good, entry{name: "teams", content: "v1", kind: tar.TypeSymlink}), want: []string{"clusters/dev/main.lke.hcl"}, barred: []string{"teams"}},
		{name: "a bomb", body: packed(t, bomb...), err: "unpack"},
		{name: "a bomb of empty files", body: packed(t, swarm...), err: "more than 100000 files"},
		{name: "longer than the bound", body: noise, err: "larger than 10 MiB"},
		{name: "no archive", body: []byte("<html>"), err: "unpack"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(tt.body) }))
			defer server.Close()
			dir := filepath.Join(t.TempDir(), "head")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			digest := tt.digest
			if digest == "" {
				digest = fmt.Sprintf("sha256:%x", sha256.Sum256(tt.body))
			}
			err := NewArtifacts(0).Fetch(t.Context(), meta.Artifact{URL: server.URL, Digest: digest}, dir)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%v, want an error with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			files, barred := filesIn(t, dir)
			if diff := cmp.Diff(tt.want, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.barred, barred); diff != "" {
				t.Errorf("barred files (-want +got):\n%s", diff)
			}
		})
	}
}

// filesIn lists the files of a directory, in order: those that can be read whole, and
// those that are barred.
func filesIn(t *testing.T, dir string) (whole, barred []string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := root.Stat(name); err != nil || info.Size() > maxFile {
			barred = append(barred, name)
		} else {
			whole = append(whole, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return whole, barred
}

func TestFetchRetries(t *testing.T) {
	body := packed(t, entry{name: "main.lke.hcl", content: "cluster {}\n"})
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		w.Write(body)
	}))
	defer server.Close()
	fetcher := NewArtifacts(2)
	fetcher.client.RetryWaitMin = 1
	err := fetcher.Fetch(t.Context(), meta.Artifact{URL: server.URL, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(body))}, filepath.Join(t.TempDir()))
	if err != nil || asked.Load() != 2 {
		t.Errorf("after %d requests: %v", asked.Load(), err)
	}
}

func TestPackKeepsPickedFiles(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{"clusters/dev/main.lke.hcl": "a", "modules/web/web.lke.hcl": "b", "teams.yaml": "c"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := Pick{from, []string{"modules/web/web.lke.hcl", "clusters/dev/main.lke.hcl"}}
	kept, err := read.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if err := Unpack(bytes.NewReader(kept), to); err != nil {
		t.Fatal(err)
	}
	unpacked, err := PickAll(to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"clusters/dev/main.lke.hcl", "modules/web/web.lke.hcl"}, unpacked.Names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	digests := map[string]bool{}
	for _, p := range []Pick{read, unpacked} {
		digest, err := p.Digest("clusters/dev")
		if err != nil {
			t.Fatal(err)
		}
		digests[digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("the digests differ: %v", digests)
	}
	for name, other := range map[string]Pick{
		"another path": read, "a file less": {from, read.Names[:1]}, "a file more": {from, append(read.Names, "teams.yaml")},
	} {
		path := "clusters/dev"
		if name == "another path" {
			path = "clusters"
		}
		if digest, err := other.Digest(path); err != nil || digests[digest] {
			t.Errorf("%s: the digest is the same, or %v", name, err)
		}
	}
	if _, err := (Pick{from, []string{"../escaped.hcl"}}).Pack(); err == nil {
		t.Error("a file is picked that is in another directory")
	}
}
