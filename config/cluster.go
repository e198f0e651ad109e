package config

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// declareCluster makes the value of the one cluster block.
func (c *compiler) declareCluster() *eval.Node {
	node := &eval.Node{Name: "cluster", Eval: func() (cty.Value, hcl.Diagnostics) { return cty.DynamicVal, nil }}
	for i, block := range c.dir.Blocks.OfType(schemas.Cluster.Type) {
		if i > 0 {
			c.report(diag.At("More than one cluster",
				fmt.Sprintf("A directory is for one cluster, and this one names its cluster at %s already. Give "+
					"each cluster a directory of its own.", diag.Line(node.Range)), block.DefRange))
			break
		}
		node.Range = block.DefRange
		node.Eval = func() (cty.Value, hcl.Diagnostics) { return c.cluster(block) }
	}
	if node.Range == (hcl.Range{}) {
		detail := "The directory does not say which cluster it is for. Add: cluster { name = \"NAME\" region = " +
			"\"us-ord\" }, each argument on a line of its own."
		if len(c.dir.Blocks.OfType(schemas.Variable.Type)) > 0 {
			detail += " If it is a module, validate a directory that calls it: a module is checked with the values that it " +
				"is given there."
		}
		c.report(diag.Error("No cluster", detail))
	}
	c.nodes = append(c.nodes, node)
	return node
}

func (c *compiler) cluster(block *hcl.Block) (cty.Value, hcl.Diagnostics) {
	said := decode.Block(schemas.Cluster, block, c.scope)
	c.unknown = append(c.unknown, said.Unknown...)
	fields := said.Value.AsValueMap()
	if fields == nil {
		return cty.DynamicVal, said.Diags
	}
	if name, ok := fields["name"]; ok && name.IsKnown() && !said.Diags.HasErrors() {
		if wrong := wrongClusterName(name.AsString()); wrong != "" {
			content, _, _ := block.Body.PartialContent(decode.Schema(schemas.Cluster))
			said.Diags = append(said.Diags, diag.AtExpression("Invalid cluster name", wrong, content.Attributes["name"].Expr))
		}
	}
	if _, ok := fields["tier"]; !ok {
		fields["tier"] = cty.StringVal("standard")
	}
	content, _, _ := block.Body.PartialContent(decode.Schema(schemas.Cluster))
	if attr := content.Attributes[kubernetesVersion]; attr != nil {
		c.versionFrom = decode.Origin{Range: attr.Expr.Range(), Expression: attr.Expr}
	}
	return cty.ObjectVal(fields), said.Diags
}

const kubernetesVersion = "kubernetes_version"

// PlaceholderName stands for the name of a cluster where it is not known. Nobody's
// cluster is called so.
const PlaceholderName = "CHANGE-ME"

var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

// wrongClusterName says what is wrong with the name of a cluster; "" for nothing.
// The name is written on each object as a label.
func wrongClusterName(name string) string {
	const rule = "It is the cluster's label in LKE"
	switch {
	case name == "":
		return "The name is empty. " + rule + "."
	case name == PlaceholderName:
		return fmt.Sprintf("%s is not the name of a cluster. Write the cluster's label in LKE.", name)
	case len(name) > 63:
		return fmt.Sprintf("The name has %d characters, and 63 fit into the label that objects carry. %s.", len(name), rule)
	case !labelValue.MatchString(name):
		return fmt.Sprintf("%q cannot be a cluster's label. %s: letters, digits, dashes, underscores and dots, with a "+
			"letter or digit at both ends.", name, rule)
	}
	return ""
}

func clusterOf(v cty.Value) Cluster {
	if !v.IsWhollyKnown() {
		return Cluster{}
	}
	field := func(name string) string { return v.GetAttr(name).AsString() }
	cluster := Cluster{Name: field("name"), Region: field("region"), Tier: field("tier")}
	if v.Type().HasAttribute("id") && !v.GetAttr("id").IsNull() {
		cluster.ID, _ = v.GetAttr("id").AsBigFloat().Int64()
	}
	if v.Type().HasAttribute(kubernetesVersion) && !v.GetAttr(kubernetesVersion).IsNull() {
		cluster.KubernetesVersion = field(kubernetesVersion)
	}
	return cluster
}

// inherit gives the cluster's version of Kubernetes to the node classes that name
// none: a change of it changes each class, and shows in a diff.
func (all *compilation) inherit(version string) {
	if version == "" {
		return
	}
	for _, c := range all.compilers {
		for _, o := range c.objects {
			for i := range o.instances {
				all.inheritInto(&o.instances[i].object, version)
			}
		}
	}
}

func (all *compilation) inheritInto(o *Object, version string) {
	if o.Kind() != schemas.NodeClass.Object.Kind {
		return
	}
	spec := manifest.Ensure(o.Manifest, "spec")
	if _, named := spec["lkeK8sVersion"]; !named {
		spec["lkeK8sVersion"] = version
		o.Origins.Set("spec.lkeK8sVersion", all.versionFrom)
	}
}
