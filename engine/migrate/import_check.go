package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	clusters "github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// notCompiled is what is wrong with an object that the files do not have.
const notCompiled = "its block does not compile"

// remainder compares each object with what it compiles to.
func remainder(validator *kube.Validator, originals []original, compiled compile.Result) ([]Difference, error) {
	compiledAs := map[manifest.Key]config.Object{}
	for _, r := range compiled.Objects {
		compiledAs[r.Key()] = r
	}
	var rest []Difference
	for _, o := range originals {
		key := manifest.KeyOf(o.authored)
		id := key.String()
		if o.class != "" {
			name := manifest.Text(o.authored, "spec", "template", "spec", "nodeClassRef", "name")
			rest = append(rest, Difference{Object: id, Path: "spec.template.spec.nodeClassRef",
				Why: fmt.Sprintf("%s in the object, but node class %s of Linode in the HCL: write a node_class block of that name", o.class, name)})
		}
		r, ok := compiledAs[key]
		if !ok {
			rest = append(rest, Difference{Object: id, Why: notCompiled})
			continue
		}
		found, err := o.compare(validator, r)
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", id, err)
		}
		for _, f := range found {
			f.Object = id
			rest = append(rest, f)
		}
	}
	slices.SortStableFunc(rest, func(a, b Difference) int {
		return cmp.Or(strings.Compare(a.Object, b.Object), strings.Compare(a.Path, b.Path))
	})
	return slices.Compact(rest), nil
}

// compare compares one object twice: as it would be created, which finds missing
// fields, and as an apply would change the live one, which finds changes and
// conflicts.
func (o original) compare(validator *kube.Validator, r config.Object) ([]Difference, error) {
	rest, err := differences(marked(o.defaulted, r), kube.Spelled(r.Defaulted, o.defaulted))
	if err != nil {
		return nil, err
	}
	live := marked(o.live, r)
	live["apiVersion"] = r.Manifest["apiVersion"]
	if live, err = validator.Defaulted(live); err != nil {
		return nil, err
	}
	predicted, conflicts, err := validator.Predict(live, kube.Spelled(r.Manifest, live))
	if err != nil {
		return nil, err
	}
	changed, err := differences(live, predicted)
	if err != nil {
		return nil, err
	}
	rest = append(rest, changed...)
	for _, c := range conflicts {
		rest = append(rest, Difference{
			Path: c.Path,
			Why:  fmt.Sprintf("%q has set it in another form, so an apply would conflict", c.Owner),
		})
	}
	before, err := plan.TemplateHash(live)
	if err != nil {
		return nil, err
	}
	if after, err := plan.TemplateHash(predicted); err != nil || before != after {
		rest = append(rest, Difference{Why: "its hash changes, so its nodes would be replaced"})
	}
	return rest, nil
}

// marked is a copy of an object with the annotations of its cluster that its class compiles with: lkeplan writes
// them, like the inventory label.
func marked(obj map[string]any, r config.Object) map[string]any {
	obj = runtime.DeepCopyJSON(obj)
	for _, key := range schemas.OfCluster() {
		if value, ok := manifest.Map(r.Manifest, "metadata", "annotations")[key]; ok {
			manifest.Ensure(obj, "metadata", "annotations")[key] = value
		}
	}
	return obj
}

// Difference is one field in which two states of an object differ.
type Difference struct {
	Object string // such as "NodePool general"
	Path   string // of the field; "" if it is about the whole object
	Why    string
}

// String is one line.
func (d Difference) String() string {
	if d.Path == "" {
		return d.Object + ": " + d.Why
	}
	return d.Object + ": " + d.Path + ": " + d.Why
}

// differences lists the fields in which two states of an object differ. It
// leaves Object to the caller.
func differences(before, after map[string]any) (rest []Difference, err error) {
	state := func(obj map[string]any) plan.State {
		return plan.State{Objects: []config.Object{{Manifest: obj, Defaulted: obj}}}
	}
	p, err := plan.Diff(context.Background(), state(before), state(after))
	if err != nil {
		return nil, err
	}
	for _, c := range p.Changes {
		for _, f := range c.Fields {
			rest = append(rest,
				Difference{Path: f.Path, Why: fmt.Sprintf("%s in the object, %s in the HCL", said(f.Before), said(f.After))})
		}
	}
	return rest, nil
}

// said writes a value so that a number and the same string differ.
func said(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.QuoteToASCII(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

// ClusterOf returns what imported objects contain about their cluster: the
// name that lkeplan has written on them; the region that its nodes are in, or else
// that its pools require; and its tier, if one of its classes has what only one
// tier has, or is of instance mode. What is missing or contradictory is empty.
func ClusterOf(objects, nodes []map[string]any) config.Cluster {
	var of []string
	for _, node := range nodes {
		of = append(of, manifest.Label(node, schemas.RegionLabel))
	}
	regions := map[string]bool{}
	if region := clusters.Most(of); region != "" {
		regions[region] = true
	}
	tier, gpus, owners := "", false, map[string]bool{}
	for _, obj := range objects {
		owner := manifest.Label(obj, kube.InventoryLabel)
		if owner != "" && !strings.HasPrefix(owner, kube.NodePlanOwner+".") {
			owners[owner] = true
		}
		// The controller writes ID/LABEL of its LKE cluster on a class.
		onClass := manifest.Text(obj, "metadata", "annotations", linodev1alpha1.AnnotationCluster)
		if _, label, known := strings.Cut(onClass, "/"); known {
			owners[label] = true
		}
		if len(nodes) == 0 {
			maps.Copy(regions, regionsAskedFor(obj))
		}
		if manifest.Kind(obj) == schemas.NodeClass.Object.Kind {
			tier = cmp.Or(tierOf(obj), tier)
			gpus = gpus || manifest.Map(obj, "metadata", "annotations")[schemas.AnnotationGPUPlans] == "true"
		}
	}
	return config.Cluster{Name: only(owners), Region: only(regions), Tier: tier, GPUPlans: gpus}
}

// Describe returns the cluster of the directory that objects are imported into: what is
// given, including the mode, else what they contain. Comments are about what is unknown.
func Describe(objects, nodes []map[string]any, given config.Cluster, mode string) (cluster config.Cluster, comments string) {
	known := ClusterOf(objects, nodes)
	switch {
	case mode == schemas.ModeInstance:
		known.Tier = mode
	case mode != "" && known.Instances():
		known.Tier = ""
	}
	cluster = config.Cluster{
		Name: cmp.Or(given.Name, known.Name), Region: cmp.Or(given.Region, known.Region), Tier: cmp.Or(given.Tier, known.Tier),
	}
	cluster.GPUPlans = known.GPUPlans && !cluster.Instances()
	if cluster.Name == "" {
		cluster.Name = schemas.PlaceholderName
		name := "its label in LKE"
		if cluster.Instances() {
			name = "the CLUSTER_NAME of the controller"
		}
		comments += "# The objects do not name the cluster: write " + name + ".\n"
	}
	if cluster.Region == "" {
		cluster.Region = "us-ord"
		comments += "# The objects do not contain the region: write the one that the cluster is in.\n"
	}
	return cluster, comments
}

// tierOf is the tier of the cluster according to a class.
func tierOf(class map[string]any) string {
	switch mode := manifest.Map(class, "metadata", "annotations")[schemas.AnnotationMode]; {
	case mode == schemas.ModeInstance:
		return schemas.ModeInstance
	case manifest.Map(class, "metadata", "annotations")[schemas.AnnotationGPUPlans] == "true",
		manifest.Map(class, "spec")["firewallID"] != nil,
		strings.Contains(manifest.Text(class, "spec", "lkeK8sVersion"), "+lke"):
		return schemas.TierEnterprise
	}
	return ""
}

// only is the single name of a set; "" if there is none, or more than one.
func only(names map[string]bool) string {
	if len(names) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(names))[0]
}

func regionsAskedFor(pool map[string]any) map[string]bool {
	requirements, _ := manifest.Lookup(pool, "spec", "template", "spec", "requirements")
	list, _ := requirements.([]any)
	regions := map[string]bool{}
	for _, element := range list {
		entry, _ := element.(map[string]any)
		values, _ := entry["values"].([]any)
		if (entry["key"] == schemas.ZoneLabel || entry["key"] == schemas.RegionLabel) && entry["operator"] == "In" {
			for _, v := range values {
				regions[fmt.Sprint(v)] = true
			}
		}
	}
	return regions
}
