package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/lkeplan/lkeplan/cmd/sandbox/stack"
)

// settings are the flags of the commands that start a sandbox.
type settings struct {
	dir, mode               string
	flux, audit, daemonSets bool
	simulated               simulated
}

// register adds the flags. With the default delays a node is ready about seven seconds after it was requested; a
// real one takes one and a half to three minutes.
func (s *settings) register(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&s.dir, "dir", "", "directory of the sandbox (default: a new one)")
	flags.BoolVar(&s.flux, "flux", false,
		"run Flux's source-controller, and install the CRDs of notification-controller")
	flags.BoolVar(&s.audit, "audit", false, "write each request to kube-apiserver into audit.log, next to the logs")

	c := &s.simulated
	flags.StringVar(&s.mode, "mode", stack.ModeLKE, "how nodes are created: lke (node pools of an LKE cluster) or "+
		"instance (one Linode at a time, without an LKE cluster)")
	flags.StringVar(&c.Tier, "tier", "standard", "tier of the LKE cluster: standard or enterprise")
	flags.BoolVar(&s.daemonSets, "lke-daemonsets", true,
		"run LKE's own DaemonSets on each node of the standard tier, as observed; calico-node requests 250m of CPU")
	flags.StringVar(&c.Region, "region", "us-ord", "the region of the cluster")
	flags.StringVar(&c.ClusterLabel, "cluster-name", "sandbox", "the name of the cluster")
	flags.StringVar(&c.KubernetesVersion, "kubernetes-version", "", "version that LKE reports (default: its newest)")
	flags.DurationVar(&c.InstanceDelay, "instance-delay", time.Second,
		"time until a slot of a pool has its instance")
	flags.DurationVar(&c.JoinDelay, "join-delay", 5*time.Second, "time until an instance has joined as a node or, in "+
		"instance mode, has booted")
	flags.DurationVar(&c.CCMDelay, "ccm-delay", time.Second, "time until the cloud controller has completed a node")
	flags.DurationVar(&c.DeleteDelay, "delete-delay", 2*time.Second, "time until a deleted instance is gone")
	flags.DurationVar(&c.NodeGoneDelay, "node-gone-delay", time.Second,
		"time until the node of a deleted instance is removed")
	flags.DurationVar(&c.ListDelay, "list-delay", 5*time.Second,
		"time until a pool of the enterprise tier lists a new node")
	flags.StringVar(&c.RateLimit, "rate-limit", "off",
		"rate limit of the API: off, documented (200 lists and 1600 other calls a minute), or N/min")
	flags.Float64Var(&c.FaultRate, "fault-rate", 0,
		"the share of Linode calls that fail: refused, done without a word, or done 20 s afterwards")
	flags.StringSliceVar(&c.Breaks, "break", nil, "assumptions that the account makes false, by experiments of sandbox probe")
	flags.StringVar(&c.Catalog, "catalog", "", "a snapshot of plans and prices (default: the embedded one)")
}

// cluster completes and checks the settings, before anything is built or started.
func (s *settings) cluster() (stack.Cluster, simulated, error) {
	c := s.simulated
	if s.mode != stack.ModeLKE && s.mode != stack.ModeInstance {
		return stack.Cluster{}, c, fmt.Errorf("--mode %q: want %s or %s", s.mode, stack.ModeLKE, stack.ModeInstance)
	}
	c.WithoutCluster = s.mode == stack.ModeInstance
	if c.Catalog != "" {
		path, err := filepath.Abs(c.Catalog) // the simulator has another working directory
		if err != nil {
			return stack.Cluster{}, c, err
		}
		c.Catalog = path
	}
	c.ClusterID, c.Seed, c.Token = 100001, 1, stack.NewToken()
	if _, err := c.simulator(); err != nil {
		return stack.Cluster{}, c, fmt.Errorf("set up the simulated cluster: %w", err)
	}
	cluster := stack.Cluster{Mode: s.mode, Name: c.ClusterLabel, Region: c.Region, LinodeToken: c.Token}
	if !c.WithoutCluster {
		cluster.ID, cluster.Tier = c.ClusterID, c.Tier
	}
	return cluster, c, nil
}
