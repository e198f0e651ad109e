package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// probe returns the command sandbox probe; the cluster is the sandbox's, or the probe makes one.
func (s *sandbox) probe(args ...string) *exec.Cmd {
	args = append([]string{"probe", "--yes", "--region", "us-mia", "--record", filepath.Join(s.t.TempDir(), "record")}, args...)
	if id := s.env["LKE_CLUSTER_ID"]; id != "" {
		args = append(args, "--cluster", id)
	}
	return s.command(bin(s.t, "sandbox"), nil, args...)
}

// startProbedSandbox starts a sandbox in which all experiments can be decided: it has a firewall, and a plan is out of
// stock.
func startProbedSandbox(t *testing.T, flags ...string) *sandbox {
	s := startSandbox(t, append(flags, "--region", "us-mia")...)
	s.furnish(sim.AssetSet{Firewalls: []sim.Firewall{{Label: "other"}}})
	s.inject(`{"no_capacity":"event","plan":"g6-dedicated-2"}`)
	return s
}

// TestProbeDecidesAllAssumptions runs all experiments against a real API server: in the sandbox's cluster, and in an
// enterprise cluster that the probe makes.
func TestProbeDecidesAllAssumptions(t *testing.T) {
	for tier, flags := range map[string][]string{
		"standard":   {"--lke-daemonsets"},
		"enterprise": {"--mode", "instance", "--instance-delay", "8s"},
	} {
		t.Run(tier, func(t *testing.T) {
			t.Parallel()
			s := startProbedSandbox(t, flags...)
			out, err := s.probe("--tier", tier, "--sold-out", "g6-dedicated-2").CombinedOutput()
			t.Logf("%s\na bill of %s", out, s.stats().Bill)
			if holds := strings.Count(string(out), " holds "); err != nil || holds < 30 ||
				regexp.MustCompile(` not decided | does not hold `).Match(out) {
				t.Errorf("%d experiments hold: %v", holds, err)
			}
			if stats := s.stats(); stats.Live > stats.Deleting || stats.Pools > 0 {
				t.Errorf("left: %+v", stats)
			}
		})
	}
}

// TestKilledProbeLeavesNothingAfterTheNext kills probes after so many writes. What others have made in the cluster stays.
func TestKilledProbeLeavesNothingAfterTheNext(t *testing.T) {
	s := startProbedSandbox(t)
	var own struct{ ID int }
	pools := fmt.Sprintf("/v4beta/lke/clusters/%s/pools", s.env["LKE_CLUSTER_ID"])
	s.linodeCall(http.MethodPost, pools, map[string]any{"type": "g6-standard-1", "count": 1}, &own)
	for _, writes := range []int{1, 2, 4, 8, 12, 14, 17, 20, 24, 28} {
		s.resetStats()
		killed := s.probe()
		if writes > 12 { // without the minutes that others take
			killed.Args = append(killed.Args, "--only", "count,null-slot,recycle,label-taken,swap,group-size,group-full,group-unique")
		}
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		s.eventually(fmt.Sprintf("%d writes", writes), 5*time.Minute, func() error {
			if got := s.stats().Writes; got < writes {
				return fmt.Errorf("%d writes", got)
			}
			return nil
		})
		killed.Process.Kill()
		killed.Wait()
		left := s.stats()
		if out, err := s.probe("--only", "token").CombinedOutput(); err != nil {
			t.Fatalf("after %d writes: %v\n%s", writes, err, out)
		}
		stats := s.stats()
		t.Logf("killed after %d writes: %d pools and %d Linodes were left, then %d and %d", left.Writes, left.Pools, left.Live,
			stats.Pools, stats.Live-stats.Deleting)
		if stats.Pools != 1 || stats.Live-stats.Deleting != 1 || stats.Slots != 1 {
			t.Fatalf("after %d writes: %+v", writes, stats)
		}
		s.linodeCall(http.MethodGet, fmt.Sprintf("%s/%d", pools, own.ID), nil, nil)
	}
}
