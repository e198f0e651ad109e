package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// noEffect finds arguments of a node class without effect on LKE: those that are not in the class's hash, except the tags,
// which are set in place, and the Kubernetes version, which is compared with that of each node. The hash decides, not a list
// here. In instance mode the provider refuses them.
func noEffect(c *checker) {
	if c.in.Cluster.Instances() {
		return
	}
	for _, object := range c.in.Objects {
		if object.Kind() != schemas.NodeClass.Object.Kind {
			continue
		}
		spec := manifest.Map(object.Manifest, "spec")
		for _, field := range slices.Sorted(maps.Keys(spec)) {
			if field == "tags" || field == "lkeK8sVersion" || field == "replaceBeforeMaintenance" || field == "consolidation" || rolls("", field, spec[field]) {
				continue
			}
			for path, name := range arguments("spec."+field, spec[field]) {
				c.report(object.Addr, path,
					"LKE has no setting for %s, so it has no effect on nodes, and a change of it replaces no node. It exists only "+
						"so that manifests of another provider can be applied unchanged. Remove it.", name)
			}
		}
	}
}

// firewalls finds classes of the standard tier that name a firewall. Terraform's documents show one there, and it is unknown
// whether LKE accepts it: the provider does not send it. It is part of the class's hash on both tiers, because the class does
// not know its tier.
func firewalls(c *checker) {
	if catalog.Tier(c.in.Cluster.Tier) != catalog.Standard {
		return
	}
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		if id := class.Spec.FirewallID; id != nil {
			c.report(object.Addr, "spec.firewallID", "On the standard tier, lkeplan creates LKE node pools without a firewall: "+
				"firewall_id = %d has no effect, but a change of it replaces the nodes. Remove it before the class has nodes.", *id)
		}
	}
}

// encryption finds classes of Enterprise clusters without disk_encryption. LKE does not encrypt disks there by default.
func encryption(c *checker) {
	if catalog.Tier(c.in.Cluster.Tier) != catalog.Enterprise {
		return
	}
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		if class.Spec.DiskEncryption == "" {
			c.report(object.Addr, "spec", "LKE Enterprise does not encrypt the disks of nodes by default. Write "+
				`disk_encryption = "enabled", or "disabled" if that is intended. Both replace the existing nodes of the class.`)
		}
	}
}

// backups finds classes whose machines cost more than their plan.
func backups(c *checker) {
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		if class.Spec.BackupsEnabled && c.in.Cluster.Instances() {
			c.report(object.Addr, "spec.backupsEnabled", "Linode bills backups in addition to the price of each machine's plan "+
				"type. Costs and cost limits in lkeplan do not include backups.")
		}
	}
}

// swap finds classes whose machines join only if the cluster's kubelet-config allows swap.
func swap(c *checker) {
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		spec := class.Spec
		kind := ptr.Deref(spec.Bootstrap, linodev1alpha1.Bootstrap{Kind: linodev1alpha1.BootstrapKubeadm}).Kind
		says := spec.Kubelet != nil && spec.Kubelet.FailSwapOn != nil
		if c.in.Cluster.Instances() && ptr.Deref(spec.Swap(), 0) > 0 && kind == linodev1alpha1.BootstrapKubeadm && !says {
			c.report(object.Addr, "spec."+spec.SwapField(), "With kubeadm, the kubelet does not start while swap is on, unless "+
				"failSwapOn is false. Write fail_swap_on = false in the kubelet block, which replaces the nodes. If the "+
				"ConfigMap kubelet-config of the cluster already sets failSwapOn: false, suppress this warning.")
		}
	}
}

// rolls reports whether the field is part of the hash of a class of a mode.
func rolls(mode, field string, value any) bool {
	hash := func(spec map[string]any) (string, error) {
		class := &linodev1alpha1.LinodeNodeClass{}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"spec": spec}, class)
		class.Annotations = map[string]string{linodev1alpha1.AnnotationMode: mode}
		return class.Hash(), err
	}
	with, err := hash(map[string]any{field: value})
	without, _ := hash(map[string]any{})
	return err != nil || with != without
}

// arguments maps the paths in a field of LinodeNodeClass to names in a configuration: one argument or block for the whole
// field, or several for its parts.
func arguments(path string, value any) map[string]string {
	for _, arg := range schemas.NodeClass.Args {
		if arg.Path == path {
			return map[string]string{path: arg.Name}
		}
	}
	for _, block := range schemas.NodeClass.Blocks {
		if block.Path == path {
			return map[string]string{path: block.Type}
		}
	}
	within, names := manifest.Map(map[string]any{"": value}, ""), map[string]string{}
	for _, arg := range schemas.NodeClass.Args {
		if key, ok := strings.CutPrefix(arg.Path, path+"."); ok && within[key] != nil {
			names[arg.Path] = arg.Name
		}
	}
	return names
}

// betweenPasses finds pools whose only limit is a number of nodes.
func betweenPasses(c *checker, p *pool) {
	limit, ok := p.Spec.Limits["nodes"]
	if !ok || p.static() || limit.IsZero() || len(p.Spec.Limits) > 1 {
		return
	}
	c.report(p.object.Addr, "spec.limits.nodes",
		"Karpenter checks the number of nodes only between scheduling passes, so many pending pods can create many more "+
			"nodes than %s at the same time. Add a limit on cpu or memory, which Karpenter checks for each new node.",
		limit.String())
}

// staticFull finds static pools whose limit leaves no capacity for a replacement.
func staticFull(c *checker, p *pool) {
	limit, ok := p.Spec.Limits["nodes"]
	if !ok || !p.static() || limit.CmpInt64(*p.Spec.Replicas) > 0 || *p.Spec.Replicas == 0 {
		return
	}
	message := fmt.Sprintf(
		"The limit equals the number of replicas, %d. Karpenter creates a replacement before it removes a drifted node, and "+
			"the limit forbids that, so a change of the pool never reaches its nodes. Raise the limit by the number of "+
			"nodes to replace at the same time.", *p.Spec.Replicas)
	if limit.CmpInt64(*p.Spec.Replicas) < 0 {
		message = fmt.Sprintf(
			"The limit of %s is less than the %d replicas, and leaves no capacity to replace drifted nodes. Make the limit "+
				"larger than replicas.",
			limit.String(), *p.Spec.Replicas)
	}
	c.report(p.object.Addr, "spec.limits.nodes", "%s", message)
}

// gated finds objects that Karpenter ignores without a feature gate.
func gated(c *checker) {
	for _, object := range c.in.Objects {
		if kind := object.Kind(); kind == schemas.Overlay.Object.Kind {
			c.report(object.Addr, "",
				"A %[1]s needs Karpenter's feature gate %[1]s. Without the gate, Karpenter silently ignores the object. The gate "+
					"is off by default: start the controller with --feature-gates=%[1]s=true, and suppress this warning with the "+
					"comment \"# lkeplan:ignore gated-feature REASON\".", kind)
		}
	}
}

// emptyBuffers finds CapacityBuffers without a pod template and a workload, which the CRD allows.
func emptyBuffers(c *checker) {
	for _, object := range c.in.Objects {
		if object.Kind() != schemas.Buffer.Object.Kind {
			continue
		}
		spec := manifest.Map(object.Defaulted, "spec")
		if spec["podTemplateRef"] == nil && spec["scalableRef"] == nil {
			c.report(object.Addr, "spec",
				"The buffer names neither a pod template nor a workload, so it reserves no capacity.")
		}
	}
}
