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

// noEffect finds arguments of a node class that LKE has no use for: those that
// the class's own hash leaves out, except for the tags, which are set in place, and
// the version of Kubernetes, which is compared with that of each node. What else
// rolls nodes and what does not is the hash's word, not a list of ours. In instance
// mode the provider refuses them.
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
					"LKE makes its machines itself and has no setting for %s: it is kept for compatibility, reaches no "+
						"machine, and a change of it replaces no node. Take it out.", name)
			}
		}
	}
}

// firewalls finds classes of the standard tier that name a firewall. Terraform's documents show one
// there, and whether LKE takes it is not known: the provider does not send it. It is part of the
// class's hash on both tiers, as the class does not know its tier.
func firewalls(c *checker) {
	if catalog.Tier(c.in.Cluster.Tier) != catalog.Standard {
		return
	}
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		if id := class.Spec.FirewallID; id != nil {
			c.report(object.Addr, "spec.firewallID", "On the standard tier lkeplan makes LKE node pools without a firewall: %d "+
				"has no effect on the nodes, and a change of it replaces them all the same. Take it out before there are nodes.", *id)
		}
	}
}

// encryption finds classes of Enterprise that leave the encryption of disks to LKE, which does not
// encrypt them there.
func encryption(c *checker) {
	if catalog.Tier(c.in.Cluster.Tier) != catalog.Enterprise {
		return
	}
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		if class.Spec.DiskEncryption == "" {
			c.report(object.Addr, "spec", "LKE Enterprise does not encrypt the disks of nodes unless it is asked to. Write "+
				`disk_encryption = "enabled", or "disabled" if that is meant. On a class that has nodes either replaces them.`)
		}
	}
}

// backups finds classes whose machines cost more than the catalogue knows.
func backups(c *checker) {
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		if class.Spec.BackupsEnabled && c.in.Cluster.Instances() {
			c.report(object.Addr, "spec.backupsEnabled", "Linode bills backups on top of each machine's plan. Prices here are "+
				"without them, and so is what limits on cost hold to.")
		}
	}
}

// swap finds classes whose machines join only if the cluster's own configuration of kubelets allows swap.
func swap(c *checker) {
	for object, class := range typed[linodev1alpha1.LinodeNodeClass](c, schemas.NodeClass.Object.Kind) {
		spec := class.Spec
		kind := ptr.Deref(spec.Bootstrap, linodev1alpha1.Bootstrap{Kind: linodev1alpha1.BootstrapKubeadm}).Kind
		says := spec.Kubelet != nil && spec.Kubelet.FailSwapOn != nil
		if c.in.Cluster.Instances() && ptr.Deref(spec.Swap(), 0) > 0 && kind == linodev1alpha1.BootstrapKubeadm && !says {
			c.report(object.Addr, "spec."+spec.SwapField(), "The kubelet of kubeadm does not start while swap is on, unless "+
				"failSwapOn is false. Write fail_swap_on = false in kubelet, which replaces the nodes, or ignore this if the "+
				"cluster's own kubelet-config has it.")
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

// arguments are what a field of LinodeNodeClass is called in a configuration, by the paths of
// what is set: one argument or block for the whole field, or several for what is in it.
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
		"Karpenter compares the number of nodes only between its passes: one burst of pods can make many more "+
			"than %s at once. CPU and memory are counted node by node; limit one of them as well, such as cpu.",
		limit.String())
}

// staticFull finds static pools that have no room for a successor.
func staticFull(c *checker, p *pool) {
	limit, ok := p.Spec.Limits["nodes"]
	if !ok || !p.static() || limit.CmpInt64(*p.Spec.Replicas) > 0 || *p.Spec.Replicas == 0 {
		return
	}
	message := fmt.Sprintf(
		"The limit is the number of replicas, %d, so a drifted node has no place for its successor, which is "+
			"made first: changes of the pool never reach its nodes. Make the limit larger by as many as are to be "+
			"replaced at a time.", *p.Spec.Replicas)
	if limit.CmpInt64(*p.Spec.Replicas) < 0 {
		message = fmt.Sprintf(
			"The limit of %s comes before the %d replicas are there, and drifted nodes have no place for their "+
				"successors, which are made first. Make the limit larger than replicas.",
			limit.String(), *p.Spec.Replicas)
	}
	c.report(p.object.Addr, "spec.limits.nodes", "%s", message)
}

// gated finds what Karpenter ignores unless a feature gate is on.
func gated(c *checker) {
	const turnOn = "It is off by default; start the controller with --feature-gates=%[1]s=true, or silence this " +
		"where it is."
	for _, object := range c.in.Objects {
		switch kind := object.Kind(); kind {
		case schemas.Overlay.Object.Kind, schemas.Buffer.Object.Kind:
			c.report(object.Addr, "",
				"A %s needs Karpenter's feature gate %[1]s; without it the object is ignored, silently. "+turnOn, kind)
		}
	}
}

// emptyBuffers finds CapacityBuffers that say nothing of what they hold room
// for, which the CRD allows.
func emptyBuffers(c *checker) {
	for _, object := range c.in.Objects {
		if object.Kind() != schemas.Buffer.Object.Kind {
			continue
		}
		spec := manifest.Map(object.Defaulted, "spec")
		if spec["podTemplateRef"] == nil && spec["scalableRef"] == nil {
			c.report(object.Addr, "spec",
				"The buffer names neither a pod template nor a workload, so that it holds no room for anything.")
		}
	}
}
