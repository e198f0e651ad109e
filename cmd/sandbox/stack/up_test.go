package stack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

func TestInDirectory(t *testing.T) {
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
		name   string
		change func(*State)
		want   string
	}{
		{"running", running, ""},
		{"dead", func(*State) {}, "broken, linode-simulator ended"},
		{"cut off", func(s *State) { running(s); s.ReadySeconds = 0 }, "was cut off"},
		{"broken", func(s *State) { running(s); s.Components[0].PID = 1 << 30 }, "broken, etcd ended"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := example(t.TempDir())
			test.change(s)
			if err := s.save(); err != nil {
				t.Fatal(err)
			}
			got, err := inDirectory(s.Dir)
			if test.want == "" && (err != nil || got == nil) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, %v, want an error with %q", got, err, test.want)
			}
		})
	}
}

func TestForeignDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"sandbox.lock", "thesis.tex"} {
		if got, err := inDirectory(dir); got != nil || err != nil {
			t.Errorf("an empty directory: %v, %v", got, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := inDirectory(dir); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a directory of another owner: %v", err)
	}
}

func TestDown(t *testing.T) {
	for _, more := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "sandbox")
		s := example(dir)
		if err := errors.Join(layout(dir).furnish(), writePKI(layout(dir)), s.save()); err != nil {
			t.Fatal(err)
		}
		if more {
			if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		st := &Stack{State: s}
		if err := st.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if there := err == nil; there != more || more && len(entries) != 1 {
			t.Errorf("after Down the directory is there: %v, with %v", there, entries)
		}
		if err := st.Down(t.Context()); err != nil {
			t.Errorf("the second Down: %v", err)
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
