package lint

import (
	"fmt"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"

	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/schemas"
)

// mostRequirements is how many requirements the CRD of NodeClaims allows.
const mostRequirements = 100

// nodeClaims validates the NodeClaim that Karpenter makes of a pool, as its API server does: a NodeClaim can be too large
// although its pool is not, or have fewer values than minValues. Others are not validated, as the rules of its CRD are those
// of a pool's template, and to compile them takes as long as to validate hundreds of pools.
func nodeClaims(c *checker, p *pool) {
	if c.refused(p) {
		return
	}
	template := scheduling.NewNodeClaimTemplate(p.NodePool)
	template.InstanceTypeOptions = p.plans
	// Those of static pools have no requirement of plan types. Other rules report a lack of plan types.
	template.IsStaticNodeClaim = p.static() || len(p.plans) == 0 || p.requirements.HasMinValues()
	made := template.ToNodeClaim()
	if len(made.Spec.Requirements) <= mostRequirements && !p.requirements.HasMinValues() &&
		apivalidation.ValidateAnnotationsSize(made.Annotations) == nil {
		return
	}
	made.TypeMeta = metav1.TypeMeta{APIVersion: schemas.Pool.Object.APIVersion, Kind: "NodeClaim"}
	made.ObjectMeta = metav1.ObjectMeta{Name: p.Name, Labels: made.Labels, Annotations: made.Annotations}
	var claim map[string]any
	if raw, err := json.Marshal(made); err != nil || json.Unmarshal(raw, &claim) != nil {
		return
	}
	_, errs := kube.BuiltinValidator().Validate(claim, nil)
	for _, err := range errs {
		path, problem := "spec.template", err.Detail
		switch {
		case strings.HasPrefix(err.Field, "metadata.annotations"):
			path = "spec.template.metadata.annotations"
		case strings.HasPrefix(err.Field, "spec.requirements"):
			path = "spec.template.spec.requirements"
			if err.Type != field.ErrorTypeTooMany {
				break
			}
			problem = fmt.Sprintf("%v, and it %s; Karpenter makes a requirement of each label", err.BadValue, err.Detail)
		}
		c.report(p.object.Addr, path, "The API server would refuse the NodeClaims of the pool: %s: %s. This pool never gets nodes.",
			err.Field, strings.TrimSuffix(problem, "."))
	}
}

// impossible finds requirements on a label that no value meets. Those on labels of plan types would only seem to
// exclude all of them.
func impossible(c *checker, p *pool) {
	for i, r := range p.Spec.Template.Spec.Requirements {
		first := slices.IndexFunc(p.Spec.Template.Spec.Requirements,
			func(other karpv1.NodeSelectorRequirementWithMinValues) bool { return other.Key == r.Key })
		all := c.requirements(p.Spec.Template.Spec.Requirements).Get(r.Key)
		absent := slices.ContainsFunc(p.Spec.Template.Spec.Requirements, func(other karpv1.NodeSelectorRequirementWithMinValues) bool {
			return other.Key == r.Key && other.Operator == "DoesNotExist"
		})
		if i == first && !absent && all.Operator() == "DoesNotExist" {
			c.report(p.object.Addr, p.requirementPath(r.Key), "The conditions on %s (%s) exclude each other, so no value meets all of "+
				"them. This pool never gets nodes.", short(r.Key), p.spell(r.Key))
		}
	}
}

// linodeLabels finds labels and taints that LKE and Linode's controllers write.
func linodeLabels(c *checker) {
	for _, p := range c.pools {
		report := func(path, key string) {
			if advice := ofLinode(key); advice != "" {
				c.report(p.object.Addr, path, "%s", advice)
			}
		}
		template := p.Spec.Template
		for key := range template.Labels {
			report("spec.template.metadata.labels."+key, key)
		}
		for i, taint := range template.Spec.Taints {
			report(fmt.Sprintf("spec.template.spec.taints.%d", i), taint.Key)
		}
		for i, taint := range template.Spec.StartupTaints {
			report(fmt.Sprintf("spec.template.spec.startupTaints.%d", i), taint.Key)
		}
		for i, r := range template.Spec.Requirements {
			report(fmt.Sprintf("spec.template.spec.requirements.%d", i), r.Key)
		}
	}
	for object, overlay := range typed[v1alpha1.NodeOverlay](c, schemas.Overlay.Object.Kind) {
		for i, r := range overlay.Spec.Requirements {
			if advice := ofLinode(r.Key); advice != "" {
				c.report(object.Addr, fmt.Sprintf("spec.requirements.%d", i), "%s", advice)
			}
		}
	}
}

// ofLinode says what to use instead of a key of Linode; "" for other keys.
func ofLinode(key string) string {
	if !schemas.InDomain(key, schemas.LinodeDomain) {
		return ""
	}
	instead := "Use a label of your own, such as example.com/team."
	switch {
	case key == maintenance.Taint:
		instead = "Delete it. To replace nodes before their maintenance, set replace_before_maintenance in the node class."
	case strings.HasPrefix(key, "topology."):
		instead = "Delete it: all nodes are in the region of the cluster. Pods and volumes can select topology.kubernetes.io/region."
	case strings.HasPrefix(key, "lke."):
		instead = "Pods can select karpenter.sh/nodepool, the name of their pool, or a label of your own, such as example.com/team."
	}
	return fmt.Sprintf("Linode writes %s on nodes, with its own values: a pod that selects another value gets a new node again and "+
		"again. %s", key, instead)
}
