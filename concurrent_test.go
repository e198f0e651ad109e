package lkeplan_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// aModule has packages that are called after what they have for the race detector.
const aModule = `
-- no/comment/a.go --
package a // go f(); sync.Mutex; make(chan int)
-- no/once/a.go --
package a

import "sync"

var once sync.Once
var value = sync.OnceValue(func() int { return 1 })
-- no/module/go.mod --
-- no/module/a.go --
package a

func f() { go f() }
-- no/testdata/a.go --
package a

func f() { go f() }
-- has/goroutine/a.go --
package a

func f() { go f() }
-- has/goroutine_in_tests/a.go --
package a
-- has/goroutine_in_tests/a_test.go --
package a_test

func f() { go f() }
-- has/other_system/a_windows.go --
package a

func f() { go f() }
-- has/channel/a.go --
package a

var c chan int
-- has/receive/a.go --
package a

func f() { <-g() }
-- has/lock/a.go --
package a

import "sync"

type s struct{ sync.Mutex }
-- has/lock_by_another_name/a.go --
package a

import s "sync"

type t struct{ s.Mutex }
-- has/atomic/a.go --
package a

import "sync/atomic"

var n atomic.Int32
-- has/group/a.go --
package a

func f(g group) { g.Go(nil) }
-- has/server/a.go --
package a

var s = httptest.NewServer(nil)
`

// TestConcurrentPackagesUseRaceDetector: what a list leaves out would not be looked at,
// and make would not fail.
func TestConcurrentPackagesUseRaceDetector(t *testing.T) {
	root := t.TempDir()
	if _, err := concurrent(t, root); err == nil {
		t.Error("an empty list is no error")
	}
	want := map[string][]string{}
	for _, f := range txtar.Parse([]byte(aModule)).Files {
		path := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		dir := filepath.ToSlash(filepath.Dir(f.Name))
		if kind, name, _ := strings.Cut(dir, "/"); name != "module" && name != "testdata" {
			want[kind] = append(want[kind], "./"+dir)
		}
	}
	for kind, args := range map[string][]string{"has": nil, "no": {"-others"}} {
		got, err := concurrent(t, root, args...)
		slices.Sort(want[kind])
		if diff := cmp.Diff(slices.Compact(want[kind]), got); err != nil || diff != "" {
			t.Errorf("%v: %v, want -, got +\n%s", args, err, diff)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "broken.go"), []byte("package"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := concurrent(t, root); err == nil {
		t.Error("a file that cannot be read is no error")
	}
}

// TestEachPackageIsTestedOnce: what the one list leaves out is on the other.
func TestEachPackageIsTestedOnce(t *testing.T) {
	racing, err := concurrent(t, ".")
	if err != nil {
		t.Fatal(err)
	}
	others, err := concurrent(t, ".", "-others")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for path, p := range packagesOf(t, ".") {
		if below, err := filepath.Rel(strings.TrimSuffix(module, "/"), path); !p.DepOnly && err == nil {
			want = append(want, "./"+below)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(append(racing, others...)))); diff != "" {
		t.Errorf("go list -, make +\n%s", diff)
	}
	for _, known := range []string{"./linode/lke", "./engine/fetch", "./engine/controller"} {
		if !slices.Contains(racing, known) {
			t.Errorf("%s is not looked at", known)
		}
	}
}

// concurrent runs the program that make runs.
func concurrent(t *testing.T, dir string, args ...string) ([]string, error) {
	t.Helper()
	program, err := filepath.Abs("concurrent.go")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append([]string{"run", program}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return strings.Fields(string(out)), err
}
