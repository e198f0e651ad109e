package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/confine"
	"github.com/lkeplan/lkeplan/engine/trace/otlp"
	"github.com/lkeplan/lkeplan/linode"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Part is what a process does of the controller's work. Two processes of one part
// each elect their own leaders.
type Part string

// The parts.
const (
	Everything Part = ""
	Capacity   Part = "capacity" // Karpenter and the Linode provider; has the Linode token
	GitOps     Part = "gitops"   // NodePlans: has what comes from outside, and no token
)

// process is what a process of a part is called.
func (p Part) process() string {
	if p == GitOps {
		return "lkeplan-gitops"
	}
	return "lkeplan-controller"
}

// lease is the Lease that processes of a part elect their leader by.
func (p Part) lease(shard labels.Selector) string {
	name := p.process()
	if shard != nil { // each shard has a leader
		sum := sha256.Sum256([]byte(shard.String()))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// traced is where traces of this process go, and what it is called there.
func (c Config) traced() otlp.Options {
	return otlp.Options{Endpoint: c.TraceEndpoint, Service: c.Only.process(), Version: c.Release}
}

// runGitOps reconciles the NodePlans of one cluster until ctx ends. It asks Linode for
// public prices only.
func runGitOps(ctx context.Context, cfg Config) error {
	linode.Register()
	if cfg.LinodeToken != "" {
		cfg.Log.Warn("a process with --only gitops needs no Linode API token; take it away")
	}
	if cfg.ClusterName == "" {
		return errors.New("no LKE cluster; with --only gitops set CLUSTER_NAME to its label, as cluster blocks name it")
	}
	mgr, err := newManager(cfg, new(lease))
	if err != nil {
		return err
	}
	if err := requireCRDs(mgr.GetRESTMapper(), "NodePlan", "NodePlanRecord"); err != nil {
		return err
	}
	prices, _ := readCatalog(ctx, cfg)
	if err := addNodePlans(ctx, mgr, cfg, cfg.ClusterName, prices); err != nil {
		return err
	}
	cfg.Log.Info("reconciling NodePlans of an LKE cluster", "cluster", cfg.ClusterName)
	// What plans are compared with, and the nodes that they count.
	err = warm(ctx, mgr.GetCache(), &corev1.Node{}, &corev1.Pod{}, &policyv1.PodDisruptionBudget{}, &karpv1.NodeClaim{},
		&karpv1.NodePool{}, &linodev1alpha1.LinodeNodeClass{}, &lkeplanv1alpha1.CapacityLimit{})
	if err != nil {
		return err
	}
	return explainManager(mgr.Start(ctx), cfg)
}

// warnUnconfined says once what children can reach on this kernel that they must not.
func warnUnconfined(cfg Config) {
	switch version := confine.Landlock(); {
	case version == 0:
		cfg.Log.Warn("the kernel has no Landlock: what fetches and compiles sources could read the files of this process, " +
			"such as the token of its service account; see SECURITY.md")
	case version < 4:
		cfg.Log.Warn("the Landlock of the kernel knows no ports: what fetches sources could connect to others than that of " +
			"its server; see SECURITY.md")
	}
}
