package stack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

func TestMakeDirectory(t *testing.T) {
	base := t.TempDir()
	for _, test := range []struct {
		name, dir string
		made      bool
	}{
		{"new", filepath.Join(base, "a", "b"), true},
		{"there", base, false},
	} {
		path, made, err := makeDirectory(test.dir)
		if err != nil || made != test.made || path != test.dir {
			t.Errorf("%s: %q, %v, %v", test.name, path, made, err)
		}
	}
	t.Setenv("TMPDIR", base)
	path, made, err := makeDirectory("")
	if err != nil || !made || filepath.Dir(path) != base {
		t.Errorf("a fresh directory: %q, %v, %v", path, made, err)
	}
}

func TestTakeOver(t *testing.T) {
	self, err := process.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	running := func(s *State) {
		for i := range s.Components {
			s.Components[i].Identity = self
		}
	}
	for _, test := range []struct {
		name    string
		change  func(*State)
		want    string
		running bool
	}{
		{name: "dead", change: func(*State) {}},
		{name: "running", change: running, running: true},
		{name: "cut off", change: func(s *State) { running(s); s.ReadySeconds = 0 }, want: "was cut off"},
		{name: "broken", change: func(s *State) { s.Components[0].Identity = self }, want: "broken, kwok ended"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := example(t.TempDir())
			test.change(s)
			if err := errors.Join(layout(s.Dir).furnish(), s.save()); err != nil {
				t.Fatal(err)
			}
			got, err := takeOver(s.Dir)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want an error with %q", err, test.want)
				}
				return
			}
			if err != nil || got.Running() != test.running {
				t.Fatalf("running %v, %v", got.Running(), err)
			}
			_, err = os.Stat(layout(s.Dir).etcdData())
			if cleared := err != nil; cleared == test.running {
				t.Errorf("data cleared: %v, running: %v", cleared, test.running)
			}
		})
	}
}

func TestTakeOverForeign(t *testing.T) {
	dir := t.TempDir()
	if _, err := takeOver(dir); err != nil {
		t.Errorf("an empty directory: %v", err)
	}
	mine := filepath.Join(dir, "thesis.tex")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := takeOver(dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a directory of another owner: %v", err)
	}
}

func TestRemove(t *testing.T) {
	for _, made := range []bool{true, false} {
		dir := t.TempDir()
		s := example(dir)
		s.MadeDir = made
		if err := errors.Join(layout(dir).furnish(), writePKI(layout(dir)), s.save()); err != nil {
			t.Fatal(err)
		}
		st := &Stack{State: s}
		if err := st.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if there := err == nil; there == made || len(entries) > 0 {
			t.Errorf("made %v: after Down the directory is there: %v, with %v", made, there, entries)
		}
		if err := st.Down(t.Context()); err != nil {
			t.Errorf("made %v: the second Down: %v", made, err)
		}
	}
}

func TestTokenFile(t *testing.T) {
	all := users{
		admin:             {name: "a", group: masters, token: "1"},
		controllerManager: {name: "c", group: masters, token: "2"},
		scheduler:         {name: "s", token: "3"},
		kwok:              {name: "k", group: masters, token: "4"},
		linode:            {name: "l", group: masters, token: "5"},
		sourceController:  {name: "f", group: masters, token: "6"},
	}
	const want = `1,a,a,"system:masters"
2,c,c,"system:masters"
3,s,s
4,k,k,"system:masters"
5,l,l,"system:masters"
6,f,f,"system:masters"
`
	if got := all.tokenFile(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	seen := map[string]bool{}
	for name, u := range newUsers() {
		if len(u.token) < 20 || seen[u.token] {
			t.Errorf("%s has the token %q", name, u.token)
		}
		seen[u.token] = true
	}
}

// Nothing may be reachable from another machine.
func TestLoopbackOnly(t *testing.T) {
	w := wiring{layout: "/sb", port: func(string, string) int { return 4711 }}
	for _, c := range components() {
		for _, arg := range c.args(w) {
			flag, value, _ := strings.Cut(arg, "=")
			listens := strings.Contains(flag, "listen") || strings.Contains(flag, "addr")
			if listens && !strings.Contains(value, "127.0.0.1") {
				t.Errorf("%s: %s", c.name, arg)
			}
			if strings.Contains(value, "0.0.0.0") {
				t.Errorf("%s: %s", c.name, arg)
			}
		}
	}
}

func TestStopOrderIsComplete(t *testing.T) {
	order := map[string]bool{}
	for _, rank := range stopOrder() {
		for _, name := range rank {
			order[name] = true
		}
	}
	for _, name := range Names() {
		if !order[name] {
			t.Errorf("%s is never ended", name)
		}
	}
	if len(order) != len(Names()) {
		t.Errorf("%d components in the order, %d names", len(order), len(Names()))
	}
}
