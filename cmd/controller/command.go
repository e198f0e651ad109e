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

	"github.com/lkeplan/lkeplan/engine/controller"
	"github.com/lkeplan/lkeplan/engine/release"
)

const long = `controller manages the node capacity of one cluster: of LKE, or of Linodes
that join a cluster which you run (--mode instance).

It runs inside the cluster, or outside with KUBECONFIG. The cluster's region and
tier are asked of the Linode API.

  LINODE_TOKEN     API token with the scope lke:read_write, and the optional
                   events:read_only and linodes:read_only; none with --only gitops
  LINODE_URL       another Linode API than https://api.linode.com
  LKE_CLUSTER_ID   the cluster's number, or
  CLUSTER_NAME     the cluster's label
  LINODE_CLIENT_TIMEOUT   seconds that a request to the Linode API may take (30)

Other variables of karpenter-provider-linode and of Karpenter are flags that have
not been given: LINODE_REGION, BATCH_IDLE_DURATION, BATCH_MAX_DURATION,
FEATURE_GATES, LOG_LEVEL, METRICS_PORT, HEALTH_PROBE_PORT, KARPENTER_MODE and
CLUSTER_ENDPOINT. One that has no effect is named in the log.

With --mode instance it manages a cluster that you run by yourself on Linodes: it
makes Linodes that join by kubeadm, k3s or what you write. It needs CLUSTER_NAME,
LINODE_REGION and a token with the scope linodes:read_write.`

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
	s := settings{version: release.Version()}
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
			warnIgnored(cfg.Log, getenv)
			return controller.Run(cmd.Context(), cfg)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.LinodeURL, "linode-url", getenv("LINODE_URL"), "Linode API ($LINODE_URL)")
	f.StringVar(&s.ClusterName, "cluster-name", getenv("CLUSTER_NAME"),
		"label of the LKE cluster, or in instance mode the name of the cluster ($CLUSTER_NAME)")
	f.IntVar(&s.ClusterID, "cluster-id", 0, "number of the LKE cluster ($LKE_CLUSTER_ID)")
	f.StringVar(&s.Region, "region", "", "region of the cluster, which is found out on LKE ($LINODE_REGION)")
	f.StringVar(&s.only, "only", "",
		"do a part of the work: capacity makes nodes and has the token, gitops reconciles NodePlans (default both)")
	f.StringVar(&s.mode, "mode", modeLKE,
		"how machines are made: lke, in node pools of an LKE cluster, or instance, as Linodes that join by themselves "+
			"($KARPENTER_MODE)")
	f.StringVar(&s.ClusterEndpoint, "cluster-endpoint", "",
		"with --mode instance: https://HOST:PORT by which machines reach the API server; left out, what "+
			"kube-public/cluster-info says ($CLUSTER_ENDPOINT)")
	f.StringVar(&s.kubeconfig, "kubeconfig", getenv("KUBECONFIG"), "kubeconfig file; empty inside a cluster ($KUBECONFIG)")
	f.StringVar(&s.NodeAdmission, "node-admission-params", "",
		"ConfigMap NAMESPACE/NAME to maintain for the policy of kube/deploy/node-admission.yaml")
	f.StringVar(&s.leaderElect, "leader-elect", "auto",
		"elect a leader: true, false, or auto, which is true inside a cluster")
	f.StringVar(&s.LeaderElectionNamespace, "leader-election-namespace", "",
		"namespace of the Lease; needed outside a cluster")
	f.StringVar(&s.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics; 0 for none")
	f.StringVar(&s.ProbeAddress, "health-probe-bind-address", ":8081", "address of the health probes; 0 for none")
	f.StringVar(&s.PprofAddress, "pprof-bind-address", "",
		"address of Go's profiles (/debug/pprof/), such as 127.0.0.1:6060; none by default")
	f.DurationVar(&s.Karpenter.BatchIdle, "batch-idle-duration", 0,
		"Karpenter: plan nodes when no new pod came for this long (default 1s) ($BATCH_IDLE_DURATION)")
	f.DurationVar(&s.Karpenter.BatchMax, "batch-max-duration", 0,
		"Karpenter: plan nodes after this long at most (default 2s) ($BATCH_MAX_DURATION)")
	f.DurationVar(&s.Timing.NoCapacity, "unavailable-offerings-ttl", 0,
		"how long a Linode type is not tried again after Linode had no capacity for it (default 3m)")
	f.IntVar(&s.MaxReplacements, "max-replacements", 5,
		"how many nodes of a NodePool are replaced for drift soon after they were made, without a change of its template, "+
			"until it is stopped; 0 for any number")
	for name, delay := range map[string]*time.Duration{ // which tests do not wait for
		"slot-timeout": &s.Timing.SlotTimeout, "unowned-grace": &s.Timing.Keep, "late-calls": &s.Timing.Late,
		"maintenance-every": &s.Timing.Maintenance,
	} {
		f.DurationVar(delay, name, 0, "as in the Timing of a fleet; for tests")
		cobra.CheckErr(f.MarkHidden(name))
	}
	f.StringSliceVar(&s.gates, "feature-gates", nil, "Karpenter: features to turn on or off, such as NodeRepair,StaticCapacity=false; only StaticCapacity is on by default")
	f.IntVar(&s.NodePlans.Concurrent, "concurrent", 12, "NodePlans that are reconciled at a time; two of them compile")
	f.StringVar(&s.NodePlans.EventsAddress, "events-addr", "",
		"address of Flux's notification-controller, such as http://notification-controller.flux-system.svc.cluster.local./")
	f.StringVar(&s.NodePlans.ServiceAccount, "default-service-account", "",
		"service account in whose name NodePlans without one are applied")
	f.BoolVar(&s.NodePlans.SameNamespace, "no-cross-namespace-refs", false,
		"forbid NodePlans to use sources of other namespaces, or to plan for NodePlans there")
	f.IntVar(&s.NodePlans.FetchRetries, "http-retry", 9, "how often fetching an artifact is tried again")
	f.DurationVar(&s.NodePlans.DependencyInterval, "requeue-dependency", 30*time.Second,
		"how soon a NodePlan is reconciled again whose dependencies are not ready")
	f.Uint8Var(&s.jitter, "interval-jitter-percentage", 5,
		"by how many percent intervals of NodePlans are longer or shorter, so that they do not all end at once")
	f.StringVar(&s.shard, "watch-label-selector", "",
		"with --only gitops: reconcile the NodePlans with these labels only, such as sharding.fluxcd.io/key=shard1")
	f.StringVar(&s.TraceEndpoint, "trace-endpoint", "",
		"URL of a collector that takes traces by OTLP over gRPC, such as http://otel-collector.observability:4317; none by "+
			"default ($OTEL_EXPORTER_OTLP_ENDPOINT)")
	f.StringVar(&s.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "json", "json or text")
	return cmd
}

// config checks the flags and returns what the engine needs.
func (s settings) config(getenv func(string) string, stderr io.Writer) (controller.Config, error) {
	cfg := s.Config
	cfg.LinodeToken = getenv("LINODE_TOKEN")
	if id := getenv("LKE_CLUSTER_ID"); cfg.ClusterID == 0 && id != "" {
		n, err := strconv.Atoi(id)
		if err != nil || n <= 0 {
			return cfg, fmt.Errorf("LKE_CLUSTER_ID is %q; it must be the number of an LKE cluster", id)
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
		return cfg, fmt.Errorf("--cluster-endpoint is %q; it must be such as https://10.0.0.2:6443", cfg.ClusterEndpoint)
	}
	if cfg.MaxReplacements < 0 || cfg.MaxReplacements > 100 { // an annotation has their UIDs
		return cfg, fmt.Errorf("--max-replacements is %d; it must be from 0 to 100", cfg.MaxReplacements)
	}
	if s.jitter > 50 {
		return cfg, fmt.Errorf("--interval-jitter-percentage is %d; it must be at most 50", s.jitter)
	}
	cfg.NodePlans.Jitter = float64(s.jitter) / 100
	cfg.NodePlans.Version, cfg.Release = release.Of(s.version), s.version
	var err error
	if cfg.NodePlans.Shard, err = shard(s.shard, cfg.Only); err != nil {
		return cfg, err
	}
	if cfg.Log, err = logger(stderr, s.logLevel, s.logFormat); err != nil {
		return cfg, err
	}
	if cfg.Karpenter.Gates, err = gates(s.gates); err != nil {
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

// shard reads a label selector of NodePlans; nil for all.
func shard(text string, only controller.Part) (labels.Selector, error) {
	if text == "" {
		return nil, nil
	}
	if only != controller.GitOps {
		return nil, errors.New("--watch-label-selector needs --only gitops: what makes nodes cannot be divided")
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
			return nil, errors.New("no Kubernetes cluster: not running inside one, and no kubeconfig is given; set KUBECONFIG")
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

// gates turns Karpenter's features on or off by their names. Pools with replicas work without a flag.
func gates(names []string) (options.FeatureGates, error) {
	g := options.DefaultFeatureGates()
	g.StaticCapacity = true
	known := map[string]*bool{
		"NodeRepair":     &g.NodeRepair,
		"NodeOverlay":    &g.NodeOverlay,
		"StaticCapacity": &g.StaticCapacity,
		"CapacityBuffer": &g.CapacityBuffer,
	}
	for _, given := range names {
		name, value, _ := strings.Cut(given, "=")
		if value == "false" && slices.Contains([]string{"ReservedCapacity", "SpotToSpotConsolidation"}, name) {
			continue // of clouds that have such machines
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

// logger returns the log of the process, and sends that of the libraries there.
func logger(w io.Writer, level, format string) (*slog.Logger, error) {
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
		opts.ReplaceAttr = readable
		handler = slog.NewTextHandler(w, opts)
	default:
		return nil, fmt.Errorf("--log-format is %q; it must be json or text", format)
	}
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	klog.SetSlogLogger(slog.New(handler))
	return slog.New(handler), nil
}

// readable shows in text what only JSON has a form for, such as resource lists.
func readable(_ []string, a slog.Attr) slog.Attr {
	if list, ok := a.Value.Any().(corev1.ResourceList); ok {
		if raw, err := json.Marshal(list); err == nil {
			a.Value = slog.StringValue(string(raw))
		}
	}
	return a
}
