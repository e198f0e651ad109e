package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// checkoutPrelude is the start of each script: a repository with a branch "change" that has
// the same configuration as the trunk.
const checkoutPrelude = `set -eu
git init -q -b main repo
cd repo
mkdir -p clusters/prod teams
cp ../main.hcl clusters/prod/main.lke.hcl
printf 'pool "web" {\n  node_class   = node_class.default\n  requirements = { class = "standard", cpu = 4 }\n}\n' \
  > clusters/prod/pools.lke.hcl
printf 'name,cpu\nred,10\n' > teams/teams.csv
printf 'cpu: 10\n' > teams/blue.yaml
save() { git add -A; git commit -qm "$1"; }
`

const checkoutCluster = `cluster {
  name   = "sandbox"
  region = "us-ord"
}

locals {
  motd = <<-EOT
    owner: platform
    pager: 24x7
  EOT
}

node_class "default" {}

pool "motd" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 4 }
  annotations  = { "example.com/motd" = local.motd, "example.com/id" = "$Id$" }
}

pool "team" {
  for_each     = toset(try(fileset("../../teams", "*.yaml"), []))
  name         = trimsuffix(each.key, ".yaml")
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 8 }
  limits       = yamldecode(file("../../teams/${each.key}"))
}

pool "row" {
  for_each     = toset(try([for r in csvdecode(file("../../teams/teams.csv")) : r.name], []))
  name         = each.key
  node_class   = node_class.default
  requirements = { class = "standard", cpu = 16 }
}
`

// TestCheckoutConversionIsNotAChange compares repositories in which the files on disk are not
// the bytes of the commit. A difference that Git ignores is not a change. A file that cannot be
// converted as Git does is one error, which names the file.
func TestCheckoutConversionIsNotAChange(t *testing.T) {
	names, err := filepath.Glob("../../testdata/checkout/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no checkouts: %v", err)
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	home := t.TempDir()
	t.Setenv("HOME", home)
	config := "[user]\nname = t\nemail = t@example.com\n[init]\ndefaultBranch = main\n[protocol \"file\"]\nallow = always\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			tryCheckout(t, name)
		})
	}
}

func tryCheckout(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{"dir": "clusters/prod", "repo": "repo"}
	for _, f := range archive.Files {
		said[f.Name] = strings.TrimSpace(string(f.Data))
	}
	_, changes := said["changes"]
	if changes == (said["error"] != "") {
		t.Fatal("the script has no expected result")
	}
	at := t.TempDir()
	if err := os.WriteFile(filepath.Join(at, "main.hcl"), []byte(checkoutCluster), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", checkoutPrelude+said["setup"])
	cmd.Dir = at
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, found := compareCheckout(t, append([]string{"diff"}, strings.Fields(said["args"])...),
		filepath.Join(at, said["repo"], said["dir"]))
	if err := filepath.WalkDir(at, func(name string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), "ran") {
			t.Errorf("a program of the repository was run: it created %s", name)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if !changes {
		if p.code != 1 || !regexp.MustCompile(said["error"]).MatchString(strings.Join(strings.Fields(p.stderr), " ")) {
			t.Errorf("exit code %d, changes %q, want an error like %q:\n%s", p.code, found, said["error"], p.stderr)
		}
		if n := strings.Count(p.stderr, "Error:"); n > 1 {
			t.Errorf("%d errors, want one:\n%s", n, p.stderr)
		}
		return
	}
	if diff := cmp.Diff(said["changes"], found); diff != "" || p.code == 1 {
		t.Errorf("exit code %d, changes (-want +got):\n%s\n%s", p.code, diff, p.stderr)
	}
	if p.report.Base != nil && !regexp.MustCompile(said["why"]).MatchString(p.report.Base.Why) {
		t.Errorf("reason of the base: %q, want %q", p.report.Base.Why, said["why"])
	}
}

// compareCheckout runs a comparison in this process, and lists its changes.
func compareCheckout(t *testing.T, args []string, dir string) (printed, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	none := func(string) string { return "" }
	code := run(t.Context(), append(args, "-o", "json", dir), &env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: none,
		Environ: func() []string { return nil },
	})
	p := read(t, code, stdout.String(), stderr.String())
	type changes struct {
		Changes []struct {
			Address string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
	}
	var report struct {
		changes
		Directories []struct{ Plan changes }
	}
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	all := report.Changes
	for _, d := range report.Directories {
		all = append(all, d.Plan.Changes...)
	}
	for _, c := range all {
		if action := strings.Join(c.Change.Actions, "+"); action != "no-op" {
			found = append(found, action+" "+c.Address)
		}
	}
	return p, strings.Join(found, "\n")
}
