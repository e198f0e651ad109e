package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// cluster is the sandbox's API server, read to verify what was done.
type cluster struct {
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	nodesSeen map[string]bool // by name, when they were last listed
	plans     []string        // of those, sorted
}

func connect(kubeconfig string) (*cluster, error) {
	if kubeconfig == "" {
		return nil, fmt.Errorf("KUBECONFIG is not set; run this as: bin/sandbox run --cluster-name quickstart -- bin/demo")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(cfg)
	return &cluster{kube: kube, dynamic: dyn}, err
}

// nodes returns all nodes.
func (c *cluster) nodes(ctx context.Context) ([]corev1.Node, error) {
	list, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	c.nodesSeen, c.plans = map[string]bool{}, nil
	for _, n := range list.Items {
		c.nodesSeen[n.Name] = true
		c.plans = append(c.plans, n.Labels[corev1.LabelInstanceTypeStable])
	}
	slices.Sort(c.plans)
	return list.Items, nil
}

func ready(n corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(cond corev1.NodeCondition) bool {
		return cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue
	})
}

// describe names the nodes that were last listed.
func (c *cluster) describe() string {
	if len(c.plans) == 1 {
		return "1 node: " + c.plans[0]
	}
	return fmt.Sprintf("%d nodes: %s", len(c.plans), strings.Join(c.plans, ", "))
}

// anyNode returns the name of a node that was last listed.
func (c *cluster) anyNode() string {
	for name := range c.nodesSeen {
		return name
	}
	return ""
}

func karpenter(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: plural}
}

// nodeClaims returns how many there are.
func (c *cluster) nodeClaims(ctx context.Context) (int, error) {
	list, err := c.dynamic.Resource(karpenter("nodeclaims")).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	return len(list.Items), nil
}

// poolReady reports whether a NodePool is there and ready.
func (c *cluster) poolReady(ctx context.Context, name string) (bool, error) {
	list, err := c.dynamic.Resource(karpenter("nodepools")).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, pool := range list.Items {
		conditions, _ := manifest.Lookup(pool.Object, "status", "conditions")
		list, _ := conditions.([]any)
		for _, raw := range list {
			cond, _ := raw.(map[string]any)
			if pool.GetName() == name && cond["type"] == "Ready" {
				return cond["status"] == "True", nil
			}
		}
	}
	return false, nil
}

// runningPods returns how many pods of the Deployment run on a node.
func (c *cluster) runningPods(ctx context.Context) (int, error) {
	list, err := c.kube.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=inflate"})
	if err != nil {
		return 0, err
	}
	running := 0
	for _, p := range list.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() {
			running++
		}
	}
	return running, nil
}

// deploy makes a Deployment without replicas, whose pods ask for one CPU each.
func (c *cluster) deploy(ctx context.Context, name string) error {
	labels := map[string]string{"app": name}
	grace := int64(0)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &grace,
					Containers: []corev1.Container{{
						Name:  name,
						Image: "registry.k8s.io/pause:3.10",
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("1"),
						}},
					}},
				},
			},
		},
	}
	_, err := c.kube.AppsV1().Deployments("default").Create(ctx, deployment, metav1.CreateOptions{})
	return err
}
