package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestPictureOfDiff compares the picture in the README with the output of the program for
// the configuration in the README and a change of it, with the nodes of a snapshot.
// -update and make generate draw it.
func TestPictureOfDiff(t *testing.T) {
	file := picturesFile(t, "diff.svg")
	changedRepository(t)
	drawn(t, file, "lkeplan diff --base git:main --nodes snapshot:prod.json clusters/prod", 3) // a guard refuses it
}

// TestPictureOfWorkloads compares the picture in the guide with the output for its change.
func TestPictureOfWorkloads(t *testing.T) {
	file := picturesFile(t, "workloads.svg")
	example, err := filepath.Abs("../../examples/simulate")
	if err != nil {
		t.Fatal(err)
	}
	inRepository(t)
	if err := os.CopyFS("examples/simulate", os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	// Without the guide, whose text would change the commit in the picture.
	if err := os.Remove("examples/simulate/README.md"); err != nil {
		t.Fatal(err)
	}
	committed(t)
	const block = "examples/simulate/main.lke.hcl"
	text, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	after := strings.Replace(string(text), "cpu = between(2, 16)", "cpu = between(2, 4)", 1)
	if after == string(text) {
		t.Fatal("the guide does not have the expected pool")
	}
	if err := os.WriteFile(block, []byte(after), 0o644); err != nil {
		t.Fatal(err)
	}
	drawn(t, file, "lkeplan diff --base git:main --simulate --workloads examples/simulate/shop.yaml examples/simulate", 0)
}

// TestPictureOfBurst compares the picture of a burst with the recording of
// TestABurstCreatesExactlyTheNeededNodes in cmd/sandbox/e2e, which -update of that test rewrites.
func TestPictureOfBurst(t *testing.T) {
	recording, err := os.ReadFile("testdata/picture/burst.txt")
	if err != nil {
		t.Fatal(err)
	}
	compared(t, picturesFile(t, "burst.svg"), svgOf("a burst in the sandbox", string(recording)))
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`([0-9.]+)s\S* .* 100 of 100 pods run\n\n.* ([0-9]+ calls)`).FindSubmatch(recording)
	if found == nil {
		t.Fatal("the recording has no end")
	}
	for _, number := range []string{string(found[1]) + " seconds", string(found[2])} {
		if !strings.Contains(string(readme), " "+number) {
			t.Errorf("the README does not have %q of the recording", number)
		}
	}
}

func picturesFile(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs("../../examples/pictures/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// drawn compares a picture with the output of a command.
func drawn(t *testing.T, file, command string, code int) {
	t.Helper()
	shown := "\x1b[32m$\x1b[0m \x1b[1m" + command + "\x1b[0m\n\n"
	args := append(strings.Fields(command)[1:], "--color", "always", "--width", "96", "--at", "2026-11-20T10:00:00Z")
	shown += string(lkeplan(t, code, args...))
	compared(t, file, svgOf("lkeplan diff", shown))
}

// compared compares a picture with a file. -update writes the file.
func compared(t *testing.T, file string, got []byte) {
	t.Helper()
	if golden.Updating() {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the picture is out of date; run make generate (-file +program)\n%s", diff)
	}
}

// changedRepository turns the working directory into a repository with the configuration in the
// README and an uncommitted change of it, next to a snapshot of nodes that match the commit.
func changedRepository(t *testing.T) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "```hcl\n")
	before, _, _ := strings.Cut(text, "```\n")
	after := strings.Replace(before, `class = ["standard", "dedicated"]`, `class = "dedicated"`, 1)
	if before == after {
		t.Fatal("the README does not have the expected pool")
	}
	snapshot, err := os.ReadFile("testdata/picture/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	inRepository(t)
	const file = "clusters/prod/main.lke.hcl"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(before), 0o644)); err != nil {
		t.Fatal(err)
	}
	committed(t)
	if err := os.WriteFile("prod.json", snapshot, 0o644); err != nil {
		t.Fatal(err)
	}
	hashed(t, "prod.json")
	if err := os.WriteFile(file, []byte(after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// inRepository changes to an empty working directory, and makes commits reproducible.
func inRepository(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, value := range map[string]string{
		"NAME": "T", "EMAIL": "t@example.com", "DATE": "2026-11-20T09:00:00Z",
	} {
		t.Setenv("GIT_AUTHOR_"+name, value)
		t.Setenv("GIT_COMMITTER_"+name, value)
	}
}

// committed commits all files of the working directory, in a new repository.
func committed(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch", "main", "--object-format", "sha1"}, {"add", "."},
		{"commit", "--quiet", "--message", "Pools of prod"},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// hashed gives the nodes of a snapshot the annotations of Karpenter: the hash of the
// pool that they were created from.
func hashed(t *testing.T, file string) {
	t.Helper()
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(lkeplan(t, 0, "render", "-o", "json", "clusters/prod"), &list); err != nil {
		t.Fatal(err)
	}
	var pool karpv1.NodePool
	if err := json.Unmarshal(list.Items[len(list.Items)-1], &pool); err != nil || pool.Name != "general" {
		t.Fatalf("the last object is %s, %v", pool.Name, err)
	}
	pool.Spec.Template.Spec.ExpireAfter = karpv1.MustParseNillableDuration("720h") // the default of the CRD
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := compare.ReadSnapshot(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range snapshot.Nodes {
		snapshot.Nodes[i].Annotations = map[string]string{
			karpv1.NodePoolHashAnnotationKey:        pool.Hash(),
			karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
		}
	}
	var out bytes.Buffer
	if err := snapshot.Write(&out); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// lkeplan runs the program and returns its output.
func lkeplan(t *testing.T, want int, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	env := &env{Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := run(t.Context(), args, env); code != want {
		t.Fatalf("%v exits with %d: %s%s", args, code, errs.String(), out.String())
	}
	return out.Bytes()
}
