package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// probe is an object of a resource.
type probe struct {
	resource string
	object   map[string]any
}

// probes are objects that are sent to the API server in a dry run: what webhooks and
// policies refuse, the controller cannot write either.
func probes() []probe {
	object := func(resource, apiVersion, kind string, spec map[string]any) probe {
		return probe{resource, map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "lkeplan-doctor"}, "spec": spec,
		}}
	}
	ref := map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "lkeplan-doctor"}
	amd64 := []any{map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}}}
	return []probe{
		object("linodenodeclasses", "karpenter.k8s.linode/v1", "LinodeNodeClass", map[string]any{}),
		object("nodepools", "karpenter.sh/v1", "NodePool", map[string]any{
			"template": map[string]any{"spec": map[string]any{"nodeClassRef": ref, "requirements": amd64}},
		}),
		object("nodeclaims", "karpenter.sh/v1", "NodeClaim", map[string]any{"nodeClassRef": ref, "requirements": amd64}),
	}
}

// admission sends the objects to the API server.
func (p Installation) admission(ctx context.Context) []Finding {
	const of = "admission"
	for _, try := range probes() {
		_, _, err := p.Cluster.DryRun(ctx, nil, try.object)
		switch {
		case meta.IsNoMatchError(err):
			return nil // crds reports it
		case apierrors.IsForbidden(err) && !p.may(ctx, try):
			return notKnown(of, err)
		case err != nil:
			return []Finding{{LevelFail, of, err.Error(),
				"exempt the objects of Karpenter and Linode from the webhook or policy that refuses them"}}
		}
	}
	return []Finding{{LevelOK, of, "the API server accepts node classes, pools and NodeClaims in a dry run", ""}}
}

// may reports whether the user can apply an object. If not, no webhook or policy has seen
// it. It is true if that is unknown.
func (p Installation) may(ctx context.Context, try probe) bool {
	group, _, _ := strings.Cut(manifest.APIVersion(try.object), "/")
	for _, verb := range []string{"patch", "create"} {
		right := authorizationv1.ResourceAttributes{Group: group, Resource: try.resource, Verb: verb}
		allowed, err := p.Cluster.MayI(ctx, right)
		if err == nil && !allowed {
			return false
		}
	}
	return true
}

// objects checks the conditions of pools, classes and NodePlans.
func (p Installation) objects(ctx context.Context) []Finding {
	var found []Finding
	for _, kind := range []struct{ apiVersion, name string }{
		{"karpenter.k8s.linode/v1", "LinodeNodeClass"}, {"karpenter.sh/v1", "NodePool"}, {"lkeplan.dev/v1alpha1", "NodePlan"},
	} {
		all, err := p.Cluster.List(ctx, kind.apiVersion, kind.name)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			found = append(found, notKnown(kind.name, err)...)
			continue
		}
		ready := 0
		for _, obj := range all {
			switch ok, why := kube.Readiness(obj); {
			case kind.name == "NodePlan" && manifest.Map(obj, "spec")["suspend"] == true:
				found = append(found, Finding{LevelWarn, manifest.KeyOf(obj).String(), "it is suspended: nothing is compared or " +
					"applied",
					fmt.Sprintf("lkeplan nodeplan resume -n %s %s", manifest.Namespace(obj), manifest.Name(obj))})
			case ok:
				ready++
			default:
				found = append(found, Finding{LevelWarn, manifest.KeyOf(obj).String(), "not ready: " + why, ""})
			}
			if kind.name == "NodePool" {
				found = append(found, machines(obj)...)
			}
		}
		if ready > 0 {
			found = append(found, Finding{LevelOK, kind.name, fmt.Sprintf("%d ready", ready), ""})
		}
	}
	return found
}

// machines are what a NodePool reports about machines that it cannot get, as it is or now.
func machines(obj map[string]any) (found []Finding) {
	pool, err := manifest.As[karpv1.NodePool](obj)
	if err != nil {
		return nil // Readiness has read what it can
	}
	conditions := pool.StatusConditions(status.WithObservedOnly())
	if c := conditions.Get(linode.ConditionAccepted); c.IsFalse() {
		found = append(found, Finding{LevelWarn, manifest.KeyOf(obj).String(), "it gets no node: " + c.Message,
			"correct what it reports"})
	}
	for _, of := range []string{linode.ConditionReplicaFailure, linode.ConditionOutOfStock} {
		if c := conditions.Get(of); c.IsTrue() {
			return append(found, Finding{LevelWarn, manifest.KeyOf(obj).String(), c.Message, "lkeplan why pool " + pool.Name})
		}
	}
	return found
}

// gpus checks for what offers nvidia.com/gpu to pods, if a NodePool needs GPUs. LKE's nodes have the driver and the
// toolkit, and no device plugin: without one a node is never initialized, and its pods stay pending.
func (p Installation) gpus(ctx context.Context) []Finding {
	const of = "GPUs"
	pools, err := p.Cluster.List(ctx, "karpenter.sh/v1", "NodePool")
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return notKnown(of, err)
	}
	pool, unread := "", []Finding(nil)
	for _, obj := range pools {
		switch typed, err := manifest.As[karpv1.NodePool](obj); {
		case err != nil:
			unread = append(unread, Finding{LevelWarn, of, fmt.Sprintf("not known: NodePool %s: %v", manifest.Name(obj), err),
				"compare the NodePool with what kubectl explain nodepools.spec prints"})
		case wantsGPUs(typed) && pool == "":
			pool = typed.Name
		}
	}
	if pool == "" {
		return unread
	}
	nodes, err := cluster.List[corev1.Node](ctx, p.Cluster, "v1", "Node")
	if err != nil {
		return notKnown(of, err)
	}
	for _, n := range nodes {
		if has := n.Status.Allocatable[schemas.GPU]; !has.IsZero() {
			return []Finding{{LevelOK, of, "Node " + n.Name + " offers " + schemas.GPU, ""}}
		}
	}
	sets, err := cluster.List[appsv1.DaemonSet](ctx, p.Cluster, "apps/v1", "DaemonSet")
	if err != nil {
		return notKnown(of, err)
	}
	for _, d := range sets {
		text := fmt.Sprint(d.Spec.Template.Spec.Containers)
		if strings.Contains(text, "nvidia") && strings.Contains(text, "device-plugin") {
			return []Finding{{LevelOK, of, "DaemonSet " + d.Namespace + "/" + d.Name +
				" looks like NVIDIA's device plugin, but no node offers " + schemas.GPU + " yet", ""}}
		}
	}
	return []Finding{{LevelWarn, of, fmt.Sprintf("NodePool %s needs GPUs, but no node offers %s and no DaemonSet is NVIDIA's "+
		"device plugin: pods that request a GPU stay pending", pool, schemas.GPU),
		"install NVIDIA's device plugin; with NVIDIA's GPU operator set driver.enabled=false and toolkit.enabled=false"}}
}

// wantsGPUs reports whether a NodePool requires plan types with GPUs.
func wantsGPUs(pool *karpv1.NodePool) bool {
	if _, capped := pool.Spec.Limits[schemas.GPU]; capped {
		return true
	}
	return slices.ContainsFunc(pool.Spec.Template.Spec.Requirements, func(r karpv1.NodeSelectorRequirementWithMinValues) bool {
		switch r.Key {
		case linodev1alpha1.LabelInstanceGPUCount, linodev1alpha1.LabelInstanceGPUName:
			return r.Operator != corev1.NodeSelectorOpDoesNotExist
		case linodev1alpha1.LabelInstanceClass:
			return r.Operator == corev1.NodeSelectorOpIn && slices.Contains(r.Values, "gpu")
		}
		return false
	})
}

// closed finds plans that the account cannot use, as the controller found out: the API has no list of them. All
// classes report the same, so one finding is enough.
func (p Installation) closed(ctx context.Context) []Finding {
	const of = "account limits"
	classes, err := cluster.List[linodev1alpha1.LinodeNodeClass](ctx, p.Cluster, linodev1alpha1.Group+"/v1", "LinodeNodeClass")
	if err != nil {
		return notKnown(of, err)
	}
	for _, class := range classes {
		if c := class.StatusConditions(status.WithObservedOnly()).Get(linodev1alpha1.ConditionPlanClosed); c.IsTrue() {
			return []Finding{{LevelWarn, of, "LinodeNodeClass " + class.Name + ": " + c.Message,
				"ask Linode Support for access to the plan, or remove it from the NodePools"}}
		}
	}
	return nil
}

// refusals are the events that a person has to act on before LKE can do what the controller requests, and what to do.
var refusals = []struct{ reason, of, do string }{
	{"LinodeAccountLimit", "account limits", "ask Linode Support to raise the limit, or delete what is not needed"},
	{"LKELocked", "locks", "remove the lock from the LKE node pool or the cluster: locked machines are billed"},
}

// limited finds what Linode refused in the last two hours, from the controller's events of NodeClaims: the API has
// no list of limits, and no known list of locks. NodeClaims have no namespace, so that their events are in
// default, where tenants cannot write.
func (p Installation) limited(ctx context.Context) (found []Finding) {
	at, err := p.events(ctx)
	if err != nil {
		return notKnown("account limits and locks", err)
	}
	for _, r := range refusals {
		for _, e := range at.OfKind("NodeClaim") {
			if e.Reason == r.reason && p.Now().Sub(at.LastSeen(e)) < 2*time.Hour {
				found = append(found, Finding{LevelWarn, r.of, saidOf(at, e), r.do})
				break
			}
		}
	}
	return found
}

// undeleted finds machines whose deletion fails: they are billed. One finding for each reason.
func (p Installation) undeleted(ctx context.Context) (found []Finding) {
	const of = "machines being deleted"
	claims, err := cluster.List[karpv1.NodeClaim](ctx, p.Cluster, "karpenter.sh/v1", "NodeClaim")
	if err != nil {
		return notKnown(of, err)
	}
	count := map[string]int{}
	for _, nc := range claims {
		if c := undeleted(nc); c != nil {
			count[c.Reason]++
		}
	}
	for _, nc := range claims {
		c := undeleted(nc)
		if c == nil || count[c.Reason] == 0 {
			continue
		}
		text := fmt.Sprintf("NodeClaim %s: %s", nc.Name, c.Message)
		if n := count[c.Reason]; n > 1 {
			text = fmt.Sprintf("%d machines are not deleted, such as the one of %s", n, text)
		}
		found = append(found, Finding{LevelWarn, of, text, "do what the message asks: machines that are not deleted are billed"})
		count[c.Reason] = 0 // which is reported
	}
	return found
}
