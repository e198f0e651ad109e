package stack

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

// example is the state of a sandbox whose processes are long gone, except that
// kwok's pid now belongs to this test.
func example(dir string) *State {
	gone := process.Identity{PID: 1 << 30, Start: "1"}
	return &State{
		Dir: dir, ReadySeconds: 2.5,
		Cluster: Cluster{Name: "sandbox", ID: 100001, Tier: "standard", Region: "us-ord", LinodeToken: "secret"},
		Components: []Component{
			{Name: etcd, Identity: gone, Ports: map[string]int{"client": 2379, "peer": 2380}, Log: "etcd.log"},
			{Name: kwok, Identity: process.Identity{PID: os.Getpid(), Start: "1"}, Ports: map[string]int{"health": 1}},
			{Name: linode, Identity: gone, Ports: map[string]int{"api": 8080}},
		},
		BinDirs: []string{"/cache/kubernetes/bin", "/cache/kwok/bin"},
	}
}

func TestStateRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); !errors.Is(err, ErrNoSandbox) {
		t.Errorf("Load of an empty directory: %v, want ErrNoSandbox", err)
	}
	want := example(dir)
	if err := want.save(); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the state changed (-want +got):\n%s", diff)
	}
	if err := os.WriteFile(layout(dir).state(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "sandbox.json") {
		t.Errorf("Load of a broken file: %v, want an error that names it", err)
	}
}

func TestExports(t *testing.T) {
	s := example("/tmp/it's my sandbox")
	var got []string
	for _, e := range s.Exports() {
		got = append(got, e.Shell())
	}
	want := []string{
		"export KUBECONFIG='/tmp/it'\\''s my sandbox/kubeconfig'",
		"export LINODE_URL='http://127.0.0.1:8080'",
		"export LINODE_TOKEN='secret'",
		"export CLUSTER_NAME='sandbox'",
		"export LKE_CLUSTER_ID='100001'",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exports (-want +got):\n%s", diff)
	}
}

// In the mode instance there is no LKE cluster to name, and no other may be named by what
// was in the environment before.
func TestExportsInInstanceMode(t *testing.T) {
	s := example("/sb")
	s.Cluster.Mode, s.Cluster.ID = ModeInstance, 0
	got := s.Environ([]string{"LKE_CLUSTER_ID=1", "LINODE_REGION=us-mars", "PATH=/bin"})
	want := []string{
		"KUBECONFIG=/sb/kubeconfig",
		"LINODE_URL=http://127.0.0.1:8080",
		"LINODE_TOKEN=secret",
		"CLUSTER_NAME=sandbox",
		"KARPENTER_MODE=instance",
		"LINODE_REGION=us-ord",
		"PATH=/bin:/cache/kubernetes/bin:/cache/kwok/bin",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	s.Cluster.Mode = ModeLKE
	for _, pair := range s.Environ([]string{"KARPENTER_MODE=instance", "LINODE_REGION=us-mars"}) {
		if name, _, _ := strings.Cut(pair, "="); name == "KARPENTER_MODE" || name == "LINODE_REGION" {
			t.Errorf("in the other mode there is %s", pair)
		}
	}
}

func TestEnviron(t *testing.T) {
	s := example("/sb")
	got := s.Environ([]string{"HOME=/home/x", "KUBECONFIG=/mine", "PATH=/usr/bin:/bin", "LINODE_TOKEN=real"})
	want := []string{
		"HOME=/home/x",
		"KUBECONFIG=/sb/kubeconfig",
		"LINODE_URL=http://127.0.0.1:8080",
		"LINODE_TOKEN=secret",
		"CLUSTER_NAME=sandbox",
		"LKE_CLUSTER_ID=100001",
		"PATH=/usr/bin:/bin:/cache/kubernetes/bin:/cache/kwok/bin",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}
