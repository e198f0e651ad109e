package binaries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// greeter is a module set whose source is a directory of this test, so that it
// builds without a network.
func greeter(t *testing.T, main string) Module {
	t.Helper()
	src := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/greeter\n\ngo 1.26\n")
	write("main.go", "package main\n\n"+main)
	write("stage.yaml", "kind: Stage\n")
	mod := fmt.Sprintf("module sandbox.invalid/greeter\n\ngo 1.26\n\nrequire example.com/greeter v1.2.3\n\n"+
		"replace example.com/greeter => %s\n", src)
	return Module{
		Name:     "greeter",
		Source:   fstest.MapFS{"greeter.mod": {Data: []byte(mod)}, "greeter.sum": {}},
		Main:     "example.com/greeter",
		Programs: []Program{{Name: "greet", Package: "example.com/greeter", Output: "greeter"}},
		Stamp:    func(version string) []string { return []string{"main.version=" + version} },
		Assets:   []Asset{{Module: "example.com/greeter", Path: "stage.yaml", Name: "stage.yaml"}},
	}
}

const greeting = `import "fmt"

var version string

func main() { fmt.Print("hello ", version) }
`

// lines collects what a store says.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *lines) count(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.all {
		if strings.HasPrefix(line, word) {
			n++
		}
	}
	return n
}

func TestEnsure(t *testing.T) {
	var said lines
	store := Store{Dir: t.TempDir(), Say: said.say}
	modules := []Module{greeter(t, greeting)}
	set, err := store.Ensure(t.Context(), modules)
	if err != nil {
		t.Fatal(err)
	}
	program := set.Programs["greet"]
	out, err := exec.Command(program).Output()
	if err != nil || string(out) != "hello v1.2.3" {
		t.Errorf("%s says %q, %v", program, out, err)
	}
	asset, err := os.ReadFile(set.Assets["stage.yaml"])
	if err != nil || string(asset) != "kind: Stage\n" {
		t.Errorf("asset %q, %v", asset, err)
	}
	if want := []string{filepath.Dir(program)}; !slices.Equal(set.Dirs(), want) {
		t.Errorf("Dirs = %q, want %q", set.Dirs(), want)
	}
	if said.count("building greet,") != 1 || said.count("built greeter in") != 1 {
		t.Errorf("it said %q", said.all)
	}

	said.all = nil
	if _, err := store.Ensure(t.Context(), modules); err != nil {
		t.Fatal(err)
	}
	if len(said.all) != 0 {
		t.Errorf("with everything built it said %q", said.all)
	}
}

// Two that need the same program at the same time: one builds, one waits.
func TestEnsureTogether(t *testing.T) {
	var said lines
	store := Store{Dir: t.TempDir(), Say: said.say}
	modules := []Module{greeter(t, greeting)}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if _, err := store.Ensure(t.Context(), modules); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if said.count("built greeter") != 1 {
		t.Errorf("it said %q, want one build", said.all)
	}
}

func TestEnsureFails(t *testing.T) {
	store := Store{Dir: t.TempDir(), Say: func(string, ...any) {}}
	set, err := store.Ensure(t.Context(), []Module{greeter(t, "func main() { nothing() }\n")})
	if err == nil {
		t.Fatalf("it built %+v", set)
	}
	for _, want := range []string{"build greeter: go build: exit status 1", "build.log", "undefined: nothing"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error is\n%v\nwithout %q", err, want)
		}
	}
	if programs, _ := filepath.Glob(filepath.Join(store.Dir, "*", "bin", "*")); len(programs) > 0 {
		t.Errorf("a build that failed left %q", programs)
	}
}

func TestEnsureCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	store := Store{Dir: t.TempDir(), Say: func(string, ...any) {}}
	modules := []Module{greeter(t, greeting)}
	if _, err := store.Ensure(ctx, modules); !errors.Is(err, reason) {
		t.Errorf("got %v, want that it was stopped", err)
	}
	if _, err := store.Ensure(t.Context(), modules); err != nil {
		t.Errorf("after a build that was stopped: %v", err)
	}
}

func TestEnsureWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	store := Store{Dir: t.TempDir(), Say: func(string, ...any) {}}
	_, err := store.Ensure(t.Context(), []Module{greeter(t, greeting)})
	if err == nil || !strings.Contains(err.Error(), "no go command in PATH") {
		t.Errorf("got %v, want an error that the go command is missing", err)
	}
}

func TestEnsurePrebuilt(t *testing.T) {
	var said lines
	prebuilt := t.TempDir()
	path := filepath.Join(prebuilt, "greet")
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	store := Store{Dir: t.TempDir(), Prebuilt: prebuilt, Say: said.say}
	set, err := store.Ensure(t.Context(), []Module{greeter(t, greeting)})
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Programs["greet"]; got != path {
		t.Errorf("got %s, want %s", got, path)
	}
	if said.count("building") != 0 {
		t.Errorf("it said %q", said.all)
	}
}
