package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// declareCluster declares the value of the cluster block.
func (c *compiler) declareCluster() *eval.Node {
	node := &eval.Node{Name: "cluster", Eval: func() (cty.Value, hcl.Diagnostics) { return cty.DynamicVal, nil }}
	for i, block := range c.dir.Blocks.OfType(schemas.Cluster.Type) {
		if i > 0 {
			c.report(diag.At("More than one cluster",
				fmt.Sprintf("A directory configures one cluster, and this directory already has a cluster block at "+
					"%s. Use one directory per cluster.", diag.Line(node.Range)), block.DefRange))
			break
		}
		node.Range = block.DefRange
		node.Eval = func() (cty.Value, hcl.Diagnostics) { return c.cluster(block) }
	}
	if node.Range == (hcl.Range{}) {
		detail := "The directory declares no cluster. Add a cluster block:\n" +
			"  cluster {\n    name   = \"NAME\"\n    region = \"us-ord\"\n  }\n" +
			"NAME is the label of the cluster in LKE."
		if len(c.dir.Blocks.OfType(schemas.Variable.Type)) > 0 {
			detail += " If the directory is a module, validate a directory that calls it: a module is checked " +
				"with the values of its callers."
		}
		c.report(diag.Error("No cluster", detail))
	}
	c.nodes = append(c.nodes, node)
	return node
}

// directory returns the name that the lkeplan blocks set for the directory; "" for none.
func (c *compiler) directory() (name string) {
	for _, block := range c.dir.Blocks.OfType(schemas.Lkeplan.Type) {
		content, _, _ := block.Body.PartialContent(decode.Schema(schemas.Lkeplan))
		attr := content.Attributes["directory"]
		if attr == nil {
			continue
		}
		given, diags := decode.Literal(attr)
		wrong := schemas.WrongDirectory(given)
		switch {
		case diags.HasErrors():
			c.report(diags...)
		case wrong != "":
			c.report(diag.AtExpression("Invalid directory name", wrong, attr.Expr))
		case name != "":
			c.report(diag.AtExpression("Duplicate directory name", fmt.Sprintf("The directory name was already "+
				"set to %q. Delete one of the arguments.", name),
				attr.Expr))
		default:
			name = given
		}
	}
	return name
}

func (c *compiler) cluster(block *hcl.Block) (cty.Value, hcl.Diagnostics) {
	said := decode.Block(schemas.Cluster, block, c.scope)
	c.unknown = append(c.unknown, said.Unknown...)
	fields := said.Value.AsValueMap()
	if fields == nil {
		return cty.DynamicVal, said.Diags
	}
	content, _, _ := block.Body.PartialContent(decode.Schema(schemas.Cluster))
	instances := c.modeOf(fields, content.Attributes["mode"])
	if name, ok := fields["name"]; ok && name.IsKnown() && !said.Diags.HasErrors() {
		if wrong := schemas.WrongClusterName(name.AsString(), instances); wrong != "" {
			said.Diags = append(said.Diags, diag.AtExpression("Invalid cluster name", wrong, content.Attributes["name"].Expr))
		}
	}
	if instances {
		said.Diags = append(said.Diags, notInstances(content.Attributes)...)
		fields["tier"] = cty.StringVal(schemas.ModeInstance)
	} else if _, ok := fields["tier"]; !ok {
		fields["tier"] = cty.StringVal(schemas.TierStandard)
	}
	c.gpusFrom, c.versionFrom = originOf(content.Attributes[gpuPlans]), originOf(content.Attributes[kubernetesVersion])
	return cty.ObjectVal(fields), said.Diags
}

// modeOf completes the mode of a cluster block, and reports whether it is instance mode.
func (c *compiler) modeOf(fields map[string]cty.Value, attr *hcl.Attribute) (instances bool) {
	mode, ok := fields["mode"]
	if !ok {
		fields["mode"] = cty.StringVal(schemas.ModeLKE)
		return false
	}
	c.modeFrom = originOf(attr)
	return mode.IsKnown() && mode.Type() == cty.String && mode.AsString() == schemas.ModeInstance
}

// originOf is the origin of a field that an argument of the cluster block sets.
func originOf(attr *hcl.Attribute) decode.Origin {
	if attr == nil {
		return decode.Origin{}
	}
	return decode.Origin{Range: attr.Expr.Range(), Expression: attr.Expr}
}

// notInstances reports arguments that are not allowed in instance mode.
func notInstances(written hcl.Attributes) (diags hcl.Diagnostics) {
	for _, arg := range schemas.Cluster.Args {
		if attr := written[arg.Name]; attr != nil && arg.Modes.NotInstances != "" {
			diags = append(diags, diag.AtExpression("Argument not allowed in instance mode",
				fmt.Sprintf("The argument %s is not allowed with mode = %q. %s Delete the argument.", arg.Name,
					schemas.ModeInstance, arg.Modes.NotInstances), attr.Expr))
		}
	}
	return diags
}

const (
	kubernetesVersion = "kubernetes_version"
	gpuPlans          = "gpu_plans"
)

func clusterOf(v cty.Value) Cluster {
	if !v.IsWhollyKnown() {
		return Cluster{}
	}
	field := func(name string) string { return v.GetAttr(name).AsString() }
	cluster := Cluster{Name: field("name"), Region: field("region"), Tier: field("tier")}
	if v.Type().HasAttribute("id") && !v.GetAttr("id").IsNull() {
		cluster.ID, _ = v.GetAttr("id").AsBigFloat().Int64()
	}
	if v.Type().HasAttribute(gpuPlans) && !v.GetAttr(gpuPlans).IsNull() {
		cluster.GPUPlans = cluster.Tier == schemas.TierEnterprise && v.GetAttr(gpuPlans).True()
	}
	if v.Type().HasAttribute(kubernetesVersion) && !v.GetAttr(kubernetesVersion).IsNull() {
		cluster.KubernetesVersion = field(kubernetesVersion)
	}
	return cluster
}

// inherit applies settings of the cluster block to the node classes: the mode, and the Kubernetes
// version to classes that set none. A change of these settings changes each class and is visible in
// a diff.
func (all *compilation) inherit(cluster Cluster) {
	for _, c := range all.compilers {
		for _, o := range c.objects {
			if o.table.Type != schemas.NodeClass.Type {
				continue
			}
			for i := range o.instances {
				object := &o.instances[i].object
				all.mark(object, cluster)
				all.inheritVersion(object, cluster.KubernetesVersion)
			}
		}
	}
}

// mark annotates a class with the mode, which is part of its hash, and with whether nodes can use
// GPU plans. A configuration cannot set these annotations: the keys belong to lkeplan.
func (all *compilation) mark(o *Object, cluster Cluster) {
	if cluster.Instances() {
		manifest.Ensure(o.Manifest, "metadata", "annotations")[schemas.AnnotationMode] = schemas.ModeInstance
		o.Origins.Set("metadata.annotations."+schemas.AnnotationMode, all.modeFrom)
	}
	if cluster.GPUPlans {
		manifest.Ensure(o.Manifest, "metadata", "annotations")[schemas.AnnotationGPUPlans] = "true"
		o.Origins.Set("metadata.annotations."+schemas.AnnotationGPUPlans, all.gpusFrom)
	}
}

func (all *compilation) inheritVersion(o *Object, version string) {
	spec := manifest.Ensure(o.Manifest, "spec")
	if _, named := spec["lkeK8sVersion"]; !named && version != "" {
		spec["lkeK8sVersion"] = version
		o.Origins.Set("spec.lkeK8sVersion", all.versionFrom)
	}
}
