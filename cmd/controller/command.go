package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/controller"
)

const long = `controller manages the node capacity of one cluster: an LKE cluster, or a
self-managed cluster on Linodes (--mode instance).

It runs inside the cluster, or outside with KUBECONFIG. In an LKE cluster, it
reads the region and the tier from the Linode API.

  LINODE_TOKEN     API token with the scope lke:read_write, and the optional
                   events:read_only, linodes:read_only and account:read_only (for
                   replaceBeforeMaintenance); --only gitops needs none
  LINODE_URL       Linode API (default: https://api.linode.com)
  LKE_CLUSTER_ID   ID of the LKE cluster, or
  CLUSTER_NAME     label of the LKE cluster
  LINODE_CLIENT_TIMEOUT   time limit of a request to the Linode API in seconds (30)

These variables set a flag that is not given: LINODE_REGION, BATCH_IDLE_DURATION,
BATCH_MAX_DURATION, FEATURE_GATES, LOG_LEVEL, METRICS_PORT, HEALTH_PROBE_PORT,
KARPENTER_MODE and CLUSTER_ENDPOINT.

With --mode instance, it creates Linodes that join the cluster by kubeadm, k3s or
your own script. It needs CLUSTER_NAME, LINODE_REGION and a token with the scope
linodes:read_write.`

// The modes.
const (
	modeLKE      = "lke"
	modeInstance = "instance"
)

// settings are the flags as they were given.
type settings struct {
	controller.Config

	kubeconfig, logLevel, logFormat, leaderElect, only, mode, shard, version string
	jitter                                                                   uint8
	gates                                                                    []string
}

func newCommand(getenv func(string) string, stderr io.Writer) *cobra.Command {
	s := settings{version: compile.Version()}
	cmd := &cobra.Command{
		Use:           "controller",
		Short:         "Manage the node capacity of one cluster on Linode",
		Long:          long,
		Args:          cobra.NoArgs,
		Version:       s.version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.fromEnvironment(getenv, cmd.Flags().Changed); err != nil {
				return err
			}
			cfg, err := s.config(getenv, stderr)
			if err != nil {
				return err
			}
			return controller.Run(cmd.Context(), cfg)
		},
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	cmd.AddCommand(newCheckReady())
	f := cmd.Flags()
	f.StringVar(&s.LinodeURL, "linode-url", getenv("LINODE_URL"), "URL of the Linode API ($LINODE_URL)")
	f.StringVar(&s.ClusterName, "cluster-name", getenv("CLUSTER_NAME"),
		"label of the LKE cluster, or in instance mode name of the cluster ($CLUSTER_NAME)")
	f.IntVar(&s.ClusterID, "cluster-id", 0, "ID of the LKE cluster ($LKE_CLUSTER_ID)")
	f.StringVar(&s.Region, "region", "", "region of the cluster (default: that of the LKE cluster) ($LINODE_REGION)")
	f.StringVar(&s.only, "only", "",
		"run one part: capacity creates nodes and needs the token, gitops reconciles NodePlans (default both)")
	f.StringVar(&s.mode, "mode", modeLKE,
		"how to create machines: lke, in node pools of an LKE cluster, or instance, as Linodes that join the cluster "+
			"($KARPENTER_MODE)")
	f.StringVar(&s.ClusterEndpoint, "cluster-endpoint", "",
		"with --mode instance: https://HOST:PORT of the API server for machines (default: that of "+
			"kube-public/cluster-info) ($CLUSTER_ENDPOINT)")
	f.StringVar(&s.kubeconfig, "kubeconfig", getenv("KUBECONFIG"), "kubeconfig file; leave it out inside a cluster ($KUBECONFIG)")
	f.StringVar(&s.NodeAdmission, "node-admission-params", "",
		"ConfigMap NAMESPACE/NAME to maintain for the policy of kube/deploy/node-admission.yaml")
	f.StringVar(&s.leaderElect, "leader-elect", "auto",
		"elect a leader: true, false, or auto, which is true inside a cluster")
	f.StringVar(&s.LeaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the Lease; required outside a cluster")
	f.StringVar(&s.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics; 0 turns them off")
	f.StringVar(&s.ProbeAddress, "health-probe-bind-address", ":8081", "address of the health probes; 0 turns them off")
	f.StringVar(&s.PprofAddress, "pprof-bind-address", "",
		"address of Go profiles (/debug/pprof/), such as 127.0.0.1:6060 (default: none)")
	f.DurationVar(&s.Karpenter.BatchIdle, "batch-idle-duration", 0,
		"Karpenter: plan nodes after this time without new pods (default 1s) ($BATCH_IDLE_DURATION)")
	f.DurationVar(&s.Karpenter.BatchMax, "batch-max-duration", 0,
		"Karpenter: plan nodes after at most this time (default 2s) ($BATCH_MAX_DURATION)")
	f.DurationVar(&s.Timing.NoCapacity, "unavailable-offerings-ttl", 0,
		"time before a plan type that was out of stock is tried again (default 3m)")
	f.IntVar(&s.MaxReplacements, "max-replacements", 5,
		"stop the replacement of drifted nodes of a NodePool after this number of new nodes was replaced again without a "+
			"change of its template; 0 means no limit")
	for name, delay := range map[string]*time.Duration{ // tests shorten them
		"slot-timeout": &s.Timing.SlotTimeout, "unowned-grace": &s.Timing.Keep, "late-calls": &s.Timing.Late,
		"maintenance-every": &s.Timing.Maintenance, "repair-after": &s.Karpenter.RepairAfter,
	} {
		f.DurationVar(delay, name, 0, "for tests")
		cobra.CheckErr(f.MarkHidden(name))
	}
	f.StringSliceVar(&s.gates, "feature-gates", nil, "Karpenter: feature gates, such as NodeOverlay,NodeRepair=false (default: all but NodeOverlay are on)")
	f.IntVar(&s.NodePlans.Concurrent, "concurrent", 12, "NodePlans to reconcile at the same time; at most two of them compile")
	f.StringVar(&s.NodePlans.EventsAddress, "events-addr", "",
		"address of Flux's notification-controller, such as http://notification-controller.flux-system.svc.cluster.local./")
	f.StringVar(&s.NodePlans.ServiceAccount, "default-service-account", "",
		"service account for NodePlans that name none")
	f.BoolVar(&s.NodePlans.SameNamespace, "no-cross-namespace-refs", false,
		"forbid NodePlans to use sources in other namespaces, or to plan for NodePlans there")
	f.IntVar(&s.NodePlans.FetchRetries, "http-retry", 9, "number of times to retry fetching an artifact")
	f.DurationVar(&s.NodePlans.DependencyInterval, "requeue-dependency", 30*time.Second,
		"time before a NodePlan with dependencies that are not ready is reconciled again")
	f.Uint8Var(&s.jitter, "interval-jitter-percentage", 5,
		"jitter of the intervals of NodePlans in percent, so that they do not all end at the same time")
	f.StringVar(&s.shard, "watch-label-selector", "",
		"with --only gitops: reconcile only NodePlans with these labels, such as sharding.fluxcd.io/key=shard1")
	f.StringVar(&s.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "json", "json or text")
	return cmd
}

// config checks the flags and returns the configuration of the engine.
func (s settings) config(getenv func(string) string, stderr io.Writer) (controller.Config, error) {
	cfg := s.Config
	cfg.LinodeToken = getenv("LINODE_TOKEN")
	if id := getenv("LKE_CLUSTER_ID"); cfg.ClusterID == 0 && id != "" {
		n, err := strconv.Atoi(id)
		if err != nil || n <= 0 {
			return cfg, fmt.Errorf("LKE_CLUSTER_ID is %q; it must be the ID of an LKE cluster", id)
		}
		cfg.ClusterID = n
	}
	switch cfg.Only = controller.Part(s.only); cfg.Only {
	case controller.Everything, controller.Capacity, controller.GitOps:
	default:
		return cfg, fmt.Errorf("--only is %q; it must be capacity or gitops, or left out", s.only)
	}
	switch s.mode {
	case "", modeLKE, modeInstance:
		cfg.Instances = s.mode == modeInstance
	default:
		return cfg, fmt.Errorf("--mode is %q; it must be lke or instance", s.mode)
	}
	if endpoint, err := url.Parse(cfg.ClusterEndpoint); cfg.ClusterEndpoint != "" &&
		(err != nil || endpoint.Scheme != "https" || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "") {
		return cfg, fmt.Errorf("--cluster-endpoint is %q; write it as https://10.0.0.2:6443", cfg.ClusterEndpoint)
	}
	if cfg.MaxReplacements < 0 || cfg.MaxReplacements > 100 { // their UIDs are in an annotation
		return cfg, fmt.Errorf("--max-replacements is %d; it must be from 0 to 100", cfg.MaxReplacements)
	}
	if s.jitter > 50 {
		return cfg, fmt.Errorf("--interval-jitter-percentage is %d; it must be at most 50", s.jitter)
	}
	cfg.NodePlans.Jitter = float64(s.jitter) / 100
	cfg.NodePlans.Version = compile.Release(s.version)
	var err error
	if cfg.NodePlans.Shard, err = parseShard(s.shard, cfg.Only); err != nil {
		return cfg, err
	}
	if cfg.Log, err = newLogger(stderr, s.logLevel, s.logFormat); err != nil {
		return cfg, err
	}
	if cfg.Karpenter.Gates, err = setFeatureGates(s.gates); err != nil {
		return cfg, err
	}
	if namespace, name, ok := strings.Cut(cfg.NodeAdmission, "/"); cfg.NodeAdmission != "" &&
		(!ok || namespace == "" || name == "" || strings.Contains(name, "/")) {
		return cfg, fmt.Errorf("--node-admission-params is %q; it must be NAMESPACE/NAME of a ConfigMap, such as "+
			"kube-system/lkeplan-pools", cfg.NodeAdmission)
	}
	inside := s.kubeconfig == ""
	if cfg.Kube, err = kubeConfig(s.kubeconfig); err != nil {
		return cfg, err
	}
	switch s.leaderElect {
	case "auto":
		cfg.LeaderElect = inside
	case "true", "false":
		cfg.LeaderElect = s.leaderElect == "true"
	default:
		return cfg, fmt.Errorf("--leader-elect is %q; it must be true, false or auto", s.leaderElect)
	}
	if cfg.LeaderElect && !inside && cfg.LeaderElectionNamespace == "" {
		return cfg, errors.New("outside a cluster leader election needs --leader-election-namespace")
	}
	return cfg, nil
}

// parseShard reads a label selector of NodePlans; nil for all.
func parseShard(text string, only controller.Part) (labels.Selector, error) {
	if text == "" {
		return nil, nil
	}
	if only != controller.GitOps {
		return nil, errors.New("--watch-label-selector needs --only gitops: capacity cannot be sharded")
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--watch-label-selector: %w", err)
	}
	return selector, nil
}

func kubeConfig(path string) (*rest.Config, error) {
	if path == "" {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, errors.New("no Kubernetes cluster: the controller does not run in a pod, and there is no kubeconfig; set KUBECONFIG")
		}
		return cfg, nil
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(path), WarnIfAllMissing: true}
	for _, file := range rules.Precedence {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w; correct KUBECONFIG", err)
		}
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	return cfg, nil
}

// setFeatureGates sets feature gates of Karpenter by their names. Pools with replicas, buffers and the repair of
// nodes need no flag.
func setFeatureGates(names []string) (options.FeatureGates, error) {
	g := options.DefaultFeatureGates()
	g.StaticCapacity, g.CapacityBuffer, g.NodeRepair = true, true, true
	known := map[string]*bool{
		"NodeRepair":     &g.NodeRepair,
		"NodeOverlay":    &g.NodeOverlay,
		"StaticCapacity": &g.StaticCapacity,
		"CapacityBuffer": &g.CapacityBuffer,
	}
	for _, given := range names {
		name, value, _ := strings.Cut(given, "=")
		if value == "false" && slices.Contains([]string{"ReservedCapacity", "SpotToSpotConsolidation"}, name) {
			continue // features of other clouds
		}
		gate, ok := known[name]
		if !ok || (value != "" && value != "true" && value != "false") {
			return g, fmt.Errorf("--feature-gates: cannot read %q; write NAME or NAME=false, where NAME is "+
				"CapacityBuffer, NodeOverlay, NodeRepair or StaticCapacity", given)
		}
		*gate = value != "false"
	}
	return g, nil
}

// newLogger returns the log of the process, and redirects the logs of libraries to it.
func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level is %q; it must be debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: l}
	var handler slog.Handler
	switch format {
	case "json":
		handler = slog.NewJSONHandler(w, opts)
	case "text":
		opts.ReplaceAttr = formatReadable
		handler = slog.NewTextHandler(w, opts)
	default:
		return nil, fmt.Errorf("--log-format is %q; it must be json or text", format)
	}
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	klog.SetSlogLogger(slog.New(handler))
	return slog.New(handler), nil
}

// formatReadable formats values that only JSON can represent, such as resource lists.
func formatReadable(_ []string, a slog.Attr) slog.Attr {
	if list, ok := a.Value.Any().(corev1.ResourceList); ok {
		if raw, err := json.Marshal(list); err == nil {
			a.Value = slog.StringValue(string(raw))
		}
	}
	return a
}
