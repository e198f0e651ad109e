package kube

import (
	"embed"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

//go:embed deploy/rbac.yaml deploy/controller.yaml deploy/gitops.yaml deploy/instance.yaml
var deployed embed.FS

// DeployNamespace is the namespace in which the manifests of kube/deploy install lkeplan.
const DeployNamespace = "lkeplan-system"

// NeededRights returns the permissions of each service account, by its roles in kube/deploy, for LKE clusters or for
// instance mode. DeployNamespace in them stands for the namespace of lkeplan, also if it has another name.
func NeededRights(instances bool) (map[string][]authorizationv1.ResourceAttributes, error) {
	rules, bindings := map[string][]rbacv1.PolicyRule{}, []rbacv1.RoleBinding{}
	names := []string{"rbac.yaml", "controller.yaml", "gitops.yaml"}
	if instances {
		names = append(names, "instance.yaml")
	}
	for _, name := range names {
		raw, err := deployed.ReadFile("deploy/" + name)
		if err != nil {
			return nil, err
		}
		for doc := range strings.SplitSeq(string(raw), "\n---\n") {
			var object struct {
				rbacv1.RoleBinding `json:",inline"`
				Rules              []rbacv1.PolicyRule `json:"rules"`
			}
			if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
				return nil, fmt.Errorf("read %s: %w", name, err)
			}
			rules[object.Kind+" "+object.Name] = object.Rules
			if object.RoleRef.Name != "" {
				bindings = append(bindings, object.RoleBinding)
			}
		}
	}
	needed := map[string][]authorizationv1.ResourceAttributes{}
	for _, b := range bindings {
		for _, subject := range b.Subjects {
			if subject.Kind != rbacv1.ServiceAccountKind {
				continue // machines that join
			}
			for _, rule := range rules[b.RoleRef.Kind+" "+b.RoleRef.Name] {
				needed[subject.Name] = append(needed[subject.Name], ruleRights(rule, b.Namespace)...)
			}
		}
	}
	return needed, nil
}

// ruleRights returns the permissions of one rule, one by one.
func ruleRights(rule rbacv1.PolicyRule, namespace string) (all []authorizationv1.ResourceAttributes) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: name,
					})
				}
			}
		}
	}
	return all
}
