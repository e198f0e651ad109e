package lint

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// The rules in this file find values that the CRDs allow and that Karpenter rejects at run time: the pool is never ready, or it
// is ready and never works.

func schedules(c *checker, p *pool) {
	for i, b := range p.Spec.Disruption.Budgets {
		if b.Schedule == nil {
			continue
		}
		if s := c.schedule(*b.Schedule); s.err != nil {
			c.report(p.object.Addr, budgetPath(i)+".schedule",
				"%q is not a schedule: %s. The fields are minute, hour, day of the month, month and day of the "+
					"week, in UTC. Karpenter would not disrupt any node of the pool.", *b.Schedule,
				strings.TrimSuffix(s.err.Error(), "."))
		}
	}
}

func taintsTwice(c *checker, p *pool) {
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	spec := p.Spec.Template.Spec
	seen := map[identity]string{}
	for _, list := range []struct {
		field, argument string
		taints          []corev1.Taint
	}{{"taints", "taints", spec.Taints}, {"startupTaints", "startup_taints", spec.StartupTaints}} {
		for i, t := range list.taints {
			if earlier, taken := seen[identity{t.Key, t.Effect}]; taken {
				c.report(p.object.Addr, fmt.Sprintf("spec.template.spec.%s.%d", list.field, i),
					"The taint %s with the effect %s is already in %s. A node can have only one taint with a key and an "+
						"effect; Karpenter would not use the pool.", t.Key, t.Effect, earlier)
			}
			seen[identity{t.Key, t.Effect}] = list.argument
		}
	}
}

func operatorValues(c *checker, p *pool) {
	for i, r := range p.Spec.Template.Spec.Requirements {
		exists := r.Operator == corev1.NodeSelectorOpExists || r.Operator == corev1.NodeSelectorOpDoesNotExist
		if exists && len(r.Values) > 0 {
			c.report(p.object.Addr, fmt.Sprintf("spec.template.spec.requirements.%d.values", i),
				"The operator %s takes no values, so Karpenter would ignore %s. To allow only certain values, use In.",
				r.Operator, joined(r.Values))
		}
	}
}

// planLabels finds labels in the provider's domain that no plan has.
func planLabels(c *checker, p *pool) {
	for i, r := range p.Spec.Template.Spec.Requirements {
		if problem := unknownPlanLabel(r.Key); problem != "" {
			c.report(p.object.Addr, fmt.Sprintf("spec.template.spec.requirements.%d.key", i), "%s", problem)
		}
	}
	for key := range p.Spec.Template.Labels {
		if problem := unknownPlanLabel(key); problem != "" {
			c.report(p.object.Addr, "spec.template.metadata.labels."+key, "%s", problem)
		}
	}
}

func unknownPlanLabel(label string) string {
	domain, name, _ := strings.Cut(label, "/")
	ours := domain == schemas.NodeClassGroup || strings.HasSuffix(domain, "."+schemas.NodeClassGroup)
	if !ours || karpv1.WellKnownLabels.Has(label) {
		return ""
	}
	known := linodev1alpha1.PlanLabels()
	var names []string
	for _, l := range known {
		names = append(names, strings.TrimPrefix(l, schemas.NodeClassGroup+"/"))
	}
	hint := eval.DidYouMean(name, names)
	if like := eval.Suggest(name, names); like != "" {
		hint += fmt.Sprintf(" Its short name in requirements is %s.", short(schemas.NodeClassGroup+"/"+like))
	}
	return fmt.Sprintf("Plan types have no label %q, and Karpenter accepts only labels of plan types in this domain.%s", label, hint)
}

// contradictions finds labels of a pool's nodes that its requirements do not allow. Karpenter creates such nodes, and then
// finds that they have drifted from the requirement (karpenter v1.15.0, areRequirementsDrifted).
func contradictions(c *checker, p *pool) {
	template := p.Spec.Template
	asks := c.requirements(template.Spec.Requirements)
	for key, value := range template.Labels {
		if !asks.Has(key) || asks.Get(key).Has(value) {
			continue
		}
		written := slices.DeleteFunc(slices.Clone(template.Spec.Requirements),
			func(r karpv1.NodeSelectorRequirementWithMinValues) bool { return r.Key != key })
		var texts []string
		for _, r := range written {
			texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s %s", r.Operator, strings.Join(r.Values, ", "))))
		}
		c.report(p.object.Addr, "spec.template.metadata.labels."+key,
			"The pool sets the label %s = %q on its nodes, and its requirement on this label (%s) does not allow the value: "+
				"Karpenter would replace each node as soon as it exists, again and again. Change the label or the "+
				"requirement, or remove the label.", key, value, strings.Join(texts, "; "))
	}
}

func negativeLimits(c *checker, p *pool) {
	for name, limit := range p.Spec.Limits {
		if limit.Sign() < 0 {
			c.report(p.object.Addr, "spec.limits."+string(name),
				"%s = %s is negative, so the pool could not have any node. Write 0 or more, or remove the limit.",
				name, limit.String())
		}
	}
}

func capacityTypes(c *checker, p *pool) {
	for i, r := range p.Spec.Template.Spec.Requirements {
		if r.Key != karpv1.CapacityTypeLabelKey || r.Operator != corev1.NodeSelectorOpIn {
			continue
		}
		for j, value := range r.Values {
			if value != karpv1.CapacityTypeOnDemand {
				c.report(p.object.Addr, fmt.Sprintf("spec.template.spec.requirements.%d.values.%d", i, j),
					"Linode has only the capacity type on-demand, so %q never matches.%s Remove the requirement: every "+
						"pool requires on-demand.", value, eval.DidYouMean(value, []string{karpv1.CapacityTypeOnDemand}))
			}
		}
	}
}

func labelSyntax(c *checker, p *pool) {
	template := p.Spec.Template
	for key := range template.Labels {
		c.refuse(p, "spec.template.metadata.labels."+key, key, "cannot be a label", validation.IsQualifiedName(key))
	}
	for key := range template.Annotations {
		problems := validation.IsQualifiedName(strings.ToLower(key))
		if len(problems) > 0 {
			c.report(p.object.Addr, "spec.template.metadata.annotations."+key,
				"%q cannot be the key of an annotation: %s. Karpenter could not create nodes.", key, joined(problems))
		}
	}
	for i, r := range template.Spec.Requirements {
		path := "spec.template.spec.requirements." + strconv.Itoa(i)
		c.refuse(p, path+".key", r.Key, "cannot be a label", validation.IsQualifiedName(r.Key))
		for j, value := range r.Values {
			c.refuse(p, path+".values."+strconv.Itoa(j), value, "cannot be the value of a label",
				validation.IsValidLabelValue(value))
		}
	}
	taintSyntax(c, p, "taints", template.Spec.Taints)
	taintSyntax(c, p, "startupTaints", template.Spec.StartupTaints)
}

// taintSyntax is stricter than Karpenter if Kubernetes is: a value with a prefix passes the CRD and Karpenter, but no Node can
// have it.
func taintSyntax(c *checker, p *pool, field string, taints []corev1.Taint) {
	for i, t := range taints {
		path := fmt.Sprintf("spec.template.spec.%s.%d", field, i)
		c.refuse(p, path+".key", t.Key, "cannot be the key of a taint", validation.IsQualifiedName(t.Key))
		c.refuse(p, path+".value", t.Value, "cannot be the value of a taint", validation.IsValidLabelValue(t.Value))
	}
}

// refuse reports the problems of a text, if there are any. Those of Kubernetes end with a regular expression.
func (c *checker) refuse(p *pool, path, text, what string, problems []string) {
	if len(problems) == 0 {
		return
	}
	for i, problem := range problems {
		problems[i], _, _ = strings.Cut(problem, " (e.g. ")
	}
	compare := ""
	if strings.HasPrefix(what, "cannot be the value of a label") && strings.ContainsAny(text[:1], "<>=!") {
		compare = " To compare numbers, write a function: gt(4), gte(4), lt(16), lte(16) or between(4, 16). To exclude a " +
			"value, write not(\"VALUE\")."
	}
	c.report(p.object.Addr, path, "%q %s: %s.%s", text, what, joined(problems), compare)
}

func otherNodeClass(c *checker, p *pool) {
	ref := p.Spec.Template.Spec.NodeClassRef
	if ref != nil && (ref.Group != schemas.NodeClassGroup || ref.Kind != schemas.NodeClass.Object.Kind) {
		field := "kind"
		if ref.Group != schemas.NodeClassGroup {
			field = "group"
		}
		c.report(p.object.Addr, "spec.template.spec.nodeClassRef."+field,
			"The pool refers to a node class of kind %s in the API group %s. lkeplan does not create nodes from this kind, and "+
				"Karpenter would ignore the pool. Refer to a %s of %s.",
			ref.Kind, ref.Group, schemas.NodeClass.Object.Kind, schemas.NodeClassGroup)
	}
}

// overlays runs Karpenter's validation of NodeOverlays.
func overlays(c *checker) {
	for object, overlay := range typed[v1alpha1.NodeOverlay](c, schemas.Overlay.Object.Kind) {
		if err := overlay.RuntimeValidate(context.Background()); err != nil {
			c.report(object.Addr, "spec", "Karpenter would report this error: %s.", err)
		}
	}
}

// theRest is Karpenter's own validation. Its message is reported if no previous rule has reported the pool.
func theRest(c *checker, p *pool) {
	if c.refused(p) {
		return
	}
	if err := p.RuntimeValidate(context.Background()); err != nil {
		c.report(p.object.Addr, "spec.template", "Karpenter would report this error: %s.", err)
	}
}

// refused reports whether a rule has found an error in a pool.
func (c *checker) refused(p *pool) bool {
	return slices.ContainsFunc(c.findings, func(f Finding) bool { return f.Addr == p.object.Addr && isError(f) })
}

func budgetPath(i int) string { return fmt.Sprintf("spec.disruption.budgets.%d", i) }
