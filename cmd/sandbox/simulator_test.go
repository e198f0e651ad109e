package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/sim"
)

func example() simulated {
	return simulated{RateLimit: "documented", Config: sim.Config{
		Tier: "enterprise", Region: "us-ord", ClusterLabel: "mine", ClusterID: 42, Token: "secret",
		InstanceDelay: time.Second, JoinDelay: 2 * time.Second, CCMDelay: 3 * time.Second,
		DeleteDelay: 4 * time.Second, ListDelay: 5 * time.Second, NodeGoneDelay: 6 * time.Second,
		Jitter: 0.5, Seed: 7,
	}}
}

// What is asked for reaches the simulator, through the file.
func TestConfigArrives(t *testing.T) {
	text, err := json.Marshal(example())
	if err != nil {
		t.Fatal(err)
	}
	var c simulated
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	simulator, err := c.simulator()
	if err != nil {
		t.Fatal(err)
	}
	played := simulator.Config()
	if played.RateLimit.Lists != 200 || played.Catalog == nil || played.KubernetesVersion == "" {
		t.Errorf("rate limit %+v, catalog %p, version %q", played.RateLimit, played.Catalog, played.KubernetesVersion)
	}
	got := simulated{RateLimit: "documented", Config: sim.Config{
		Tier: played.Tier, Region: played.Region, ClusterLabel: played.ClusterLabel, ClusterID: played.ClusterID,
		Token: played.Token, InstanceDelay: played.InstanceDelay, JoinDelay: played.JoinDelay, CCMDelay: played.CCMDelay,
		DeleteDelay: played.DeleteDelay, ListDelay: played.ListDelay, NodeGoneDelay: played.NodeGoneDelay,
		Jitter: played.Jitter, Seed: played.Seed,
	}}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Errorf("what is played (-asked +played):\n%s", diff)
	}
}

func TestCatalogFile(t *testing.T) {
	embedded, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	text, err := embedded.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	good, bad := filepath.Join(t.TempDir(), "good"), filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(good, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("plans? none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{good: "", bad: "catalog: ",
		filepath.Join(t.TempDir(), "none"): "no such file"} {
		c := example()
		c.Catalog = file
		_, err := c.simulator()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(file), err, want)
		}
	}
}
