package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/kube/deploy"
)

// rights asks the API server for each right that the accounts of lkeplan need.
func (p Installation) rights(ctx context.Context) []Finding {
	const of = "rights"
	parts, err := p.parts(ctx)
	if err != nil {
		return notKnown(of, err)
	}
	instances := p.settings(ctx).instances
	needed, err := deploy.Needed(instances)
	if err != nil {
		return notKnown(of, err)
	}
	together := !slices.ContainsFunc(parts, func(d part) bool { return d.name == "lkeplan-gitops" })
	plans, err := p.plans(ctx)
	if err != nil {
		return notKnown(of, err)
	}
	var found []Finding
	for _, d := range parts {
		rights := needed[d.name]
		if together && d.name == "lkeplan-controller" && plans > 0 {
			more := slices.DeleteFunc(needed["lkeplan-gitops"], func(r authorizationv1.ResourceAttributes) bool {
				return r.Resource == "leases" // it has one Lease, its own
			})
			rights = slices.Concat(rights, more)
		}
		refused, err := p.refused(ctx, d, rights)
		switch {
		case err != nil:
			return append(found, notKnown(of, err)...)
		case len(refused) > 0:
			const most = 5
			text := strings.Join(refused[:min(most, len(refused))], ", ")
			if n := len(refused) - most; n > 0 {
				text += fmt.Sprintf(" and %d more", n)
			}
			do := "helm upgrade, or kubectl apply -k kube/deploy of that release"
			if instances {
				do += ", and then kubectl apply -f kube/deploy/instance.yaml"
			}
			text = fmt.Sprintf("the account %s/%s may not %s", d.namespace, d.account, text)
			found = append(found, Finding{LevelFail, of, text, do})
		default:
			text := fmt.Sprintf("the account %s/%s has all %d that it needs", d.namespace, d.account, len(rights))
			found = append(found, Finding{LevelOK, of, text, ""})
		}
	}
	return found
}

// refused are the rights that an account has not.
func (p Installation) refused(ctx context.Context, d part, needed []authorizationv1.ResourceAttributes) ([]string, error) {
	var refused []string
	for _, right := range needed {
		if right.Namespace == deploy.Namespace {
			right.Namespace = d.namespace
		}
		allowed, err := p.Cluster.May(ctx, d.namespace, d.account, right)
		if err != nil {
			return nil, err
		}
		if !allowed {
			text := right.Verb + " " + right.Resource
			if right.Subresource != "" {
				text += "/" + right.Subresource
			}
			if right.Namespace != "" && right.Namespace != d.namespace {
				text += " in " + right.Namespace
			}
			refused = append(refused, text)
		}
	}
	return refused, nil
}

// plans counts the NodePlans.
func (p Installation) plans(ctx context.Context) (int, error) {
	plans, err := p.Cluster.List(ctx, "lkeplan.dev/v1alpha1", "NodePlan")
	if meta.IsNoMatchError(err) {
		return 0, nil
	}
	return len(plans), err
}

// policies looks at the admission policy for approvals. Without a binding that denies, a
// policy does nothing.
func (p Installation) policies(ctx context.Context) []Finding {
	const of, name = "policies", "lkeplan-approval"
	const to = "helm upgrade with policies.approval, or kubectl apply -f kube/deploy/approval.yaml"
	const so = ": whoever may write the status of a NodePlan may approve"
	policy, err := p.Cluster.Get(ctx, map[string]any{
		"apiVersion": admissionAPI, "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": name},
	})
	if err != nil && !meta.IsNoMatchError(err) {
		return notKnown(of, err)
	}
	if policy == nil {
		if n, err := p.plans(ctx); err != nil {
			return notKnown(of, err)
		} else if n == 0 {
			return nil // there is nothing to approve
		}
		return []Finding{{LevelWarn, of, "there is no ValidatingAdmissionPolicy " + name + so, to}}
	}
	bindings, err := cluster.List[admissionv1.ValidatingAdmissionPolicyBinding](ctx, p.Cluster, admissionAPI,
		"ValidatingAdmissionPolicyBinding")
	if err != nil {
		return notKnown(of, err)
	}
	if !slices.ContainsFunc(bindings, func(b *admissionv1.ValidatingAdmissionPolicyBinding) bool {
		return b.Spec.PolicyName == name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
	}) {
		text := "no ValidatingAdmissionPolicyBinding denies what the ValidatingAdmissionPolicy " + name + " forbids" + so
		return []Finding{{LevelWarn, of, text, to}}
	}
	return []Finding{{LevelOK, of, "who may approve is held", ""}}
}

const admissionAPI = "admissionregistration.k8s.io/v1"

// rivals looks for another Karpenter: two of them undo each other's work.
func (p Installation) rivals(ctx context.Context) []Finding {
	const of = "other Karpenter"
	all, err := cluster.List[appsv1.Deployment](ctx, p.Cluster, "apps/v1", "Deployment")
	if err != nil {
		return notKnown(of, err)
	}
	var found []Finding
	for _, d := range all {
		if d.Labels["app.kubernetes.io/name"] == "karpenter" && ptr.Deref(d.Spec.Replicas, 1) > 0 {
			found = append(found, Finding{LevelFail, of, "the Deployment " + d.Namespace + "/" + d.Name +
				" runs, and works on the same NodePools", "kubectl -n " + d.Namespace + " scale deployment/" + d.Name + " --replicas=0"})
		}
	}
	return found
}
