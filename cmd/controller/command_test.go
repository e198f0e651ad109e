package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// kubeconfig writes a kubeconfig of a cluster that does not exist.
func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVersion: --version needs no cluster.
func TestVersion(t *testing.T) {
	var stdout bytes.Buffer
	cmd := newCommand(func(string) string { return "" }, io.Discard)
	cmd.SetOut(&stdout)
	cmd.SetArgs([]string{"--version"})
	if err := cmd.Execute(); err != nil || !strings.HasPrefix(stdout.String(), "controller version ") {
		t.Errorf("%v, printed %q", err, stdout.String())
	}
}

// TestBadFlagsGetOneLine: the controller does not start, and prints one line with what to do.
func TestBadFlagsGetOneLine(t *testing.T) {
	kubeconfig := kubeconfig(t)
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		env  map[string]string
		want string
	}{
		{nil, nil, "set KUBECONFIG"},
		{[]string{"--kubeconfig", broken}, nil, "read kubeconfig"},
		{[]string{"prod"}, nil, `unknown command "prod"`},
		{[]string{"--log-level", "loud"}, nil, `--log-level is "loud"`},
		{[]string{"--log-format", "xml"}, nil, `--log-format is "xml"`},
		{[]string{"--node-admission-params", "pools"}, nil, `--node-admission-params is "pools"; it must be NAMESPACE/NAME`},
		{[]string{"--feature-gates", "Magic"}, nil, `cannot read "Magic"`},
		{[]string{"--feature-gates", "NodeRepair=maybe"}, nil, `cannot read "NodeRepair=maybe"`},
		{[]string{"--kubeconfig", kubeconfig, "--leader-elect", "maybe"}, nil, `--leader-elect is "maybe"`},
		{[]string{"--kubeconfig", kubeconfig, "--leader-elect", "true"}, nil, "needs --leader-election-namespace"},
		{[]string{"--kubeconfig", kubeconfig}, map[string]string{"LKE_CLUSTER_ID": "-3"}, `LKE_CLUSTER_ID is "-3"`},
		{[]string{"--kubeconfig", kubeconfig}, nil, "set LINODE_TOKEN"},
		{[]string{"--kubeconfig", kubeconfig, "--only", "nodes"}, nil, `--only is "nodes"`},
		{[]string{"--kubeconfig", kubeconfig, "--only", "capacity"}, nil, "set LINODE_TOKEN"},
		{[]string{"--kubeconfig", kubeconfig, "--only", "gitops"}, map[string]string{"LKE_CLUSTER_ID": "3"}, "set CLUSTER_NAME"},
		{[]string{"--max-replacements", "-1"}, nil, "--max-replacements is -1; it must be from 0 to 100"},
		{[]string{"--interval-jitter-percentage", "80"}, nil, "at most 50"},
		{[]string{"--watch-label-selector", "a=b"}, nil, "needs --only gitops"},
		{[]string{"--only", "gitops", "--watch-label-selector", "a in b"}, nil, "--watch-label-selector: "},
		{[]string{"--kubeconfig", kubeconfig}, map[string]string{"LINODE_TOKEN": "t"}, "set LKE_CLUSTER_ID"},
		{nil, map[string]string{"KARPENTER_MODE": "vm"}, `--mode is "vm"; it must be lke or instance`},
		{[]string{"--kubeconfig", kubeconfig, "--mode", "instance"}, nil, "with the scope linodes:read_write"},
		{[]string{"--kubeconfig", kubeconfig, "--mode", "instance"}, map[string]string{"LINODE_TOKEN": "t"}, "set LINODE_REGION"},
		{[]string{"--kubeconfig", kubeconfig, "--mode", "instance"},
			map[string]string{"LINODE_TOKEN": "t", "LKE_CLUSTER_ID": "3"}, "LKE_CLUSTER_ID names an LKE cluster"},
		{[]string{"--cluster-endpoint", "10.0.0.2:6443"}, nil, "write it as https://10.0.0.2:6443"},
		{nil, map[string]string{"BATCH_MAX_DURATION": "5"}, `BATCH_MAX_DURATION is "5"; it must be a time`},
		{nil, map[string]string{"LINODE_CLIENT_TIMEOUT": "10s"}, "a number of seconds"},
		{nil, map[string]string{"LOG_LEVEL": "loud"}, `--log-level is "loud"`},
		{nil, map[string]string{"FEATURE_GATES": "Magic=true"}, `cannot read "Magic=true"`},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			var stderr bytes.Buffer
			args := append([]string{}, tt.args...) // nil would be the arguments of the test
			code := run(context.Background(), args, func(key string) string { return tt.env[key] }, &stderr)
			if code != 1 || !strings.Contains(stderr.String(), tt.want) || strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("status %d, want 1 and one line with %q:\n%s", code, tt.want, stderr.String())
			}
		})
	}
}

// TestReleaseOfReconciler: the reconciler checks required_version with its release.
func TestReleaseOfReconciler(t *testing.T) {
	for version, want := range map[string]string{"v0.3.1": "v0.3.1", "devel-1f2c3d4a5b6c": ""} {
		s := settings{kubeconfig: kubeconfig(t), leaderElect: "false", logLevel: "info", logFormat: "text", version: version}
		cfg, err := s.config(func(string) string { return "" }, io.Discard)
		if err != nil || cfg.NodePlans.Version != want {
			t.Errorf("%s: %q, %v, want %q", version, cfg.NodePlans.Version, err, want)
		}
	}
}

// TestMissingScopeFailsAtStart: before the first request to Kubernetes, and before leader
// election.
func TestMissingScopeFailsAtStart(t *testing.T) {
	sim, err := sim.New(sim.Config{ClusterID: 77, Token: "right", Scopes: "lke:read_only linodes:read_write"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	defer server.Close()
	kubeconfig := kubeconfig(t)
	wrong := map[string]string{
		"LINODE_TOKEN": "right", "LKE_CLUSTER_ID": "77", "LINODE_URL": server.URL, "LINODE_REGION": "eu-west",
	}
	var logged bytes.Buffer
	code := run(t.Context(), []string{"--kubeconfig", kubeconfig}, func(key string) string { return wrong[key] }, &logged)
	if code != 1 || !strings.Contains(logged.String(), "is in us-ord, not in eu-west; correct or remove LINODE_REGION") {
		t.Errorf("status %d: %s", code, &logged)
	}
	for token, want := range map[string]string{
		"right": "the Linode API token lacks the scope lke:read_write: it has lke:read_only linodes:read_write; create one",
		"wrong": "refuses the token",
	} {
		var stderr bytes.Buffer
		env := map[string]string{"LINODE_TOKEN": token, "LKE_CLUSTER_ID": "77", "LINODE_URL": server.URL}
		code := run(t.Context(), []string{"--kubeconfig", kubeconfig}, func(key string) string { return env[key] }, &stderr)
		if code != 1 || !strings.Contains(stderr.String(), want) || strings.Contains(stderr.String(), token+`"`) {
			t.Errorf("status %d, want 1 and %q:\n%s", code, want, stderr.String())
		}
	}
}

// TestVariablesSetFlags: each variable has its documented effect. A flag takes precedence.
func TestVariablesSetFlags(t *testing.T) {
	env := map[string]string{
		"KARPENTER_MODE": "lke", "LINODE_REGION": "us-ord", "BATCH_IDLE_DURATION": "1m", "BATCH_MAX_DURATION": "5m",
		"FEATURE_GATES": "NodeRepair=false,SpotToSpotConsolidation=false", "LOG_LEVEL": "error", "METRICS_PORT": "9000",
		"HEALTH_PROBE_PORT": "9001", "LINODE_CLIENT_TIMEOUT": "7",
		"KUBECONFIG": kubeconfig(t),
	}
	getenv := func(name string) string { return env[name] }
	s := settings{logFormat: "json", leaderElect: "auto"}
	given := func(flag string) bool { return flag == "batch-max-duration" }
	s.Karpenter.BatchMax, s.kubeconfig = 2*time.Second, env["KUBECONFIG"]
	if err := s.fromEnvironment(getenv, given); err != nil {
		t.Fatal(err)
	}
	cfg, err := s.config(getenv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Region != "us-ord" || cfg.Karpenter.BatchIdle != time.Minute || cfg.Karpenter.BatchMax != 2*time.Second ||
		cfg.Karpenter.Gates.NodeRepair || cfg.MetricsAddress != ":9000" || cfg.ProbeAddress != ":9001" ||
		cfg.LinodeTimeout != 7*time.Second || cfg.Log.Enabled(t.Context(), slog.LevelWarn) {
		t.Errorf("%+v", cfg)
	}
}

func TestGates(t *testing.T) {
	g, err := setFeatureGates([]string{"NodeOverlay=false"})
	if err != nil || !g.StaticCapacity || !g.NodeRepair || g.NodeOverlay || !g.CapacityBuffer {
		t.Errorf("gates = %+v, %v", g, err)
	}
	g, err = setFeatureGates([]string{"StaticCapacity=false", "CapacityBuffer=false", "NodeRepair=false"})
	if err != nil || g.StaticCapacity || g.CapacityBuffer || g.NodeRepair {
		t.Errorf("gates = %+v, %v", g, err)
	}
}
