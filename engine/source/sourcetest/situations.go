// Package sourcetest makes repositories in the states that people and CI systems have
// them in, by the real git, each with the change that no comparison may miss: it deletes
// a protected pool, and the guard that protects it.
//
// A situation is a file in testdata/git: a script that makes it, the environment of the
// comparison, and what has to come of it.
package sourcetest

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Situation is a repository with a change.
type Situation struct {
	Name  string
	setup string
	env   []string
	// Args are added to the command line, such as --base.
	Args []string
	// Why is how the report says why the base is the one, a regular expression; Error is
	// one of the error. Where Error says what to type, Why is of the report after that.
	Why, Error string
	// New tells that the base does not have the directory, whose own guards judge.
	New bool

	usual string // the directory with the origin that most scripts begin with
}

// All reads the situations of a directory.
func All(t testing.TB, dir string) (all []Situation) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no situations in %s: %v", dir, err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := Situation{Name: strings.TrimSuffix(filepath.Base(name), ".txtar")}
		for _, f := range archive.Files {
			text := strings.TrimSpace(string(f.Data))
			switch f.Name {
			case "setup":
				s.setup = text
			case "env":
				s.env = strings.Split(text, "\n")
			case "args":
				s.Args = strings.Fields(text)
			case "why":
				s.Why = text
			case "error":
				s.Error = text
			case "new":
				s.New, s.Why = true, text
			default:
				t.Fatalf("%s: there is no file %q in situations", name, f.Name)
			}
		}
		if s.setup == "" || s.Why == "" && s.Error == "" {
			t.Fatalf("%s does not say what has to come of it", name)
		}
		all = append(all, s)
	}
	usual, _ := Situation{Name: "the usual origin"}.run(t, "origin")
	for i := range all {
		all[i].usual = usual
	}
	return all
}

// Place is a situation on disk.
type Place struct {
	Work  string // where lkeplan is run
	Dir   string // the directory of the cluster, as it is given on the command line
	Right string // the hash of the right base; "" for none
	Env   []string
}

// cluster is the configuration before the change, and after it.
const (
	clusterBefore = `cluster {
  name   = "sandbox"
  region = "us-ord"
}

guards {
  protected = [pool.general]
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
}

pool "other" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 8 }
}
`
	clusterAfter = `cluster {
  name   = "sandbox"
  region = "us-ord"
}

node_class "default" {}

pool "other" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 8 }
}
`
)

// Before returns the configuration before the change.
func Before() string { return clusterBefore }

const gitConfig = `[user]
	name = t
	email = t@example.com
[init]
	defaultBranch = main
	templateDir =
[protocol "file"]
	allow = always
[advice]
	detachedHead = false
[gc]
	auto = 0
[maintenance]
	auto = false
`

// prelude is the beginning of each script. It makes the repository that others are
// clones of: a trunk with the cluster, and a branch with the change.
const prelude = `set -eu
W=$PWD
before() { mkdir -p "$1"; cp "$W/before.hcl" "$1/main.lke.hcl"; }
after() { mkdir -p "$1"; cp "$W/after.hcl" "$1/main.lke.hcl"; }
save() { git -C "$1" add -A; git -C "$1" commit -qm "${2:-change}"; }
right() { git -C "$1" rev-parse "$2^{commit}" > "$W/right"; }
origin() {
  if [ $# = 0 ] && [ -n "${USUAL:-}" ]; then
    cp -R "$USUAL/origin" origin; cp "$USUAL/right" .
    return
  fi
  git init -q -b "${1:-main}" ${2:-} origin
  git -C origin config uploadpack.allowFilter true
  git -C origin config uploadpack.allowAnySHA1InWant true
  echo readme > origin/README.md; save origin first
  before origin/clusters/prod; save origin before
  right origin HEAD
  git -C origin checkout -q -b change
  after origin/clusters/prod; save origin after
  echo more >> origin/README.md; save origin more
  git -C origin checkout -q "${1:-main}"
}
# A forge that merges the change into the trunk, as GitHub does for its runners.
forge() {
  origin "$@"
  echo trunk > origin/TRUNK.md; save origin "trunk moves"
  right origin HEAD
  git -C origin checkout -q --detach
  git -C origin merge -q --no-ff -m merge change
  git -C origin update-ref refs/pull/7/merge HEAD
  git -C origin update-ref refs/pull/7/head change
  git -C origin checkout -q "${1:-main}"
}
# A checkout as CI systems make it: no clone, but a fetch of one reference.
checkout() { # REFERENCE DEPTH
  git init -q clone
  git -C clone remote add origin "file://$W/origin"
  git -C clone fetch -q ${2:+--depth=$2} --no-tags origin "+$1:refs/remotes/${1#refs/}"
  git -C clone checkout -q --detach "refs/remotes/${1#refs/}"
}
`

// Make makes the situation.
func (s Situation) Make(t testing.TB) Place {
	t.Helper()
	dir, env := s.run(t, s.setup)
	text := func(name string) string {
		data, _ := os.ReadFile(filepath.Join(dir, name)) // most scripts say the usual
		return strings.TrimSpace(string(data))
	}
	for _, pair := range s.env {
		pair = strings.ReplaceAll(pair, "$W", dir)
		pair = strings.ReplaceAll(pair, "$RIGHT", text("right"))
		pair = strings.ReplaceAll(pair, "$HEAD", text("head"))
		env = append(env, pair)
	}
	return Place{Work: filepath.Join(dir, cmp.Or(text("work"), "clone")), Dir: cmp.Or(text("dir"), "clusters/prod"),
		Right: text("right"), Env: env}
}

// run runs a script in a new directory, with the environment that it returns.
func (s Situation) run(t testing.TB, script string) (dir string, env []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"before.hcl": clusterBefore, "after.hcl": clusterAfter, "home/.gitconfig": gitConfig,
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	cmd := exec.Command("sh", "-c", prelude+script)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(env), "USUAL="+s.usual)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", s.Name, err, out)
	}
	return dir, env
}

var (
	typed  = regexp.MustCompile(`type:\n  (.+)`)
	chosen = regexp.MustCompile(`--base git:[0-9a-f]{12}`)
)

// Advice returns what an error says to do: a command to type, or a flag to add; "" for
// neither.
func Advice(stderr string) (command, flag string) {
	if m := typed.FindStringSubmatch(stderr); m != nil {
		return m[1], ""
	}
	return "", chosen.FindString(stderr)
}
