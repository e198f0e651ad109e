package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

// notRun are examples, by a part of their text, with the reason why this test cannot run them.
var notRun = map[string]string{
	"lkeplan apply":             "a cluster; the end-to-end tests run it",
	"import --out-dir":          "a cluster; the end-to-end tests run it",
	"import NodePool":           "a cluster",
	"--base live":               "a cluster",
	"simulate --workloads live": "a cluster",
	"snapshot":                  "a cluster",
	"lkeplan plan":              "a cluster; the end-to-end tests run it",
	"lkeplan show":              "a saved plan; the end-to-end tests make one",
	"lkeplan nodeplan":          "a cluster; the end-to-end tests run it",
	"lkeplan crds apply":        "a cluster; the end-to-end tests run it",
	"kubectl apply":             "a cluster; the end-to-end tests run it",
	"lkeplan doctor":            "a cluster; the end-to-end tests run it",
	"lkeplan uninstall":         "a cluster; the end-to-end tests run it",
	"lkeplan status":            "a cluster; the end-to-end tests run it",
	"lkeplan why":               "a cluster; the end-to-end tests run it",
	"lkeplan stop":              "a cluster; the end-to-end tests run it",
	"lkeplan resume":            "a cluster; the end-to-end tests run it",
	"lkeplan catalog refresh":   "the Linode API; the tests of package catalog have a simulated one",
}

// TestHelpExamples runs the examples in the help texts. The examples of a command share one copy
// of a repository with two clusters.
func TestHelpExamples(t *testing.T) {
	for _, tool := range []string{"sh", "git", "cp"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s", tool)
		}
	}
	var files []string
	dir := t.TempDir()
	for _, cmd := range commands(newRoot(processEnv())) {
		path := cmd.CommandPath()
		switch {
		case cmd.HasSubCommands() && cmd.HasParent():
			continue
		case cmd.Example == "":
			t.Errorf("%s has no example", path)
			continue
		}
		var script strings.Builder
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); line != "" && !needsMore(line) {
				fmt.Fprintf(&script, "exec sh -c '%s'\n", strings.ReplaceAll(line, "'", "''"))
			}
		}
		file := filepath.Join(dir, strings.ReplaceAll(path, " ", "_")+".txtar")
		if err := os.WriteFile(file, []byte(repository+script.String()+repositoryFiles), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	testscript.Run(t, testscript.Params{Files: files, RequireExplicitExec: true, Setup: shared})
}

func needsMore(example string) bool {
	for part := range notRun {
		if strings.Contains(example, part) {
			return true
		}
	}
	return false
}

// commands lists a command and its subcommands, without those that cobra adds.
func commands(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if name := cmd.Name(); name != "help" && name != "completion" {
			list = append(list, commands(cmd)...)
		}
	}
	return list
}

const repository = `
mkdir clusters/staging
cp main.lke.hcl clusters/prod/main.lke.hcl
cp main.lke.hcl clusters/staging/main.lke.hcl
exec git init --quiet --initial-branch main
exec git add .
exec git -c user.name=T -c user.email=t@example.com commit --quiet --message First
exec git -c user.name=T -c user.email=t@example.com commit --quiet --allow-empty --message Second
`

const repositoryFiles = `
-- manifests.yaml --
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements: []
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 4, template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}
-- clusters/prod/README.md --
The cluster of the examples.
-- clusters/prod/main.lketest.hcl --
run "thirty workers fit in six nodes" {
  pods = ["30x500mcpu,1Gi"]
  assert {
    condition     = simulate.nodes <= 6 && simulate.unschedulable == 0
    error_message = "It takes ${simulate.nodes} nodes."
  }
}
-- main.lke.hcl --
variable "environment" {
  type    = string
  default = "prod"
}

variable "teams" {
  type    = map(number)
  default = { web = 4 }
}

cluster {
  name   = "acme-${var.environment}"
  region = "us-ord"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  requirements = { class = "standard", cpu = between(4, 8) }
  limits       = { cpu = 100 }
}
`
