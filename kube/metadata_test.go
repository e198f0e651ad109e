package kube_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// served are the addresses of the Linode Metadata service.
var served = []string{"169.254.169.254/32", "fd00:a9fe:a9fe::1/128"}

// documents reads the documents of a file into objects, in their order, with all of their fields.
func documents(t *testing.T, file string, into ...any) {
	t.Helper()
	docs := strings.Split(string(contents(t, file)), "\n---\n")
	if len(docs) != len(into) {
		t.Fatalf("%s has %d documents, want %d", file, len(docs), len(into))
	}
	for i, doc := range docs {
		if err := yaml.UnmarshalStrict([]byte(doc), into[i]); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// TestNamespacePolicyBlocksMetadataService, and no other address: it can only allow traffic.
func TestNamespacePolicyBlocksMetadataService(t *testing.T) {
	var policy networkingv1.NetworkPolicy
	documents(t, "deploy/metadata-namespace.yaml", &policy)
	if s := policy.Spec; policy.Namespace != "" || len(s.PodSelector.MatchLabels)+len(s.PodSelector.MatchExpressions) != 0 ||
		!slices.Equal(s.PolicyTypes, []networkingv1.PolicyType{"Egress"}) || len(s.Egress) != 1 || len(s.Egress[0].Ports) != 0 {
		t.Fatalf("the policy does not cover all egress of the pods of its namespace: %+v", policy)
	}
	allowed := func(to netip.Addr) bool {
		in := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(to) }
		return slices.ContainsFunc(policy.Spec.Egress[0].To, func(p networkingv1.NetworkPolicyPeer) bool {
			return p.IPBlock != nil && in(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, in)
		})
	}
	for to, want := range map[string]bool{
		"169.254.169.254": false, "fd00:a9fe:a9fe::1": false, "169.254.169.253": true, "169.254.169.255": true,
		"10.0.0.1": true, "1.1.1.1": true, "fd00:a9fe:a9fe::2": true, "2600:3c00::1": true,
	} {
		if got := allowed(netip.MustParseAddr(to)); got != want {
			t.Errorf("%s is allowed: %v, want %v", to, got, want)
		}
	}
}

// TestCiliumPolicyBlocksMetadataService, and leaves other traffic to other policies: without
// enableDefaultDeny it would deny all traffic.
func TestCiliumPolicyBlocksMetadataService(t *testing.T) {
	var policy struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Description       string
			EndpointSelector  struct{ MatchExpressions []expression }
			EnableDefaultDeny struct{ Ingress, Egress *bool }
			EgressDeny        []struct {
				ToCIDR []string `json:"toCIDR"`
			}
		}
	}
	documents(t, "deploy/metadata-cilium.yaml", &policy)
	s := policy.Spec
	if policy.APIVersion != "cilium.io/v2" || policy.Kind != "CiliumClusterwideNetworkPolicy" ||
		len(s.EgressDeny) != 1 || !slices.Equal(s.EgressDeny[0].ToCIDR, served) {
		t.Errorf("the policy does not deny %v: %+v", served, policy)
	}
	if d := s.EnableDefaultDeny; d.Ingress == nil || *d.Ingress || d.Egress == nil || *d.Egress {
		t.Errorf("the policy denies more: %+v", d)
	}
	if e := s.EndpointSelector.MatchExpressions; len(e) != 1 || e[0].Key != "io.kubernetes.pod.namespace" ||
		e[0].Operator != "NotIn" || !slices.Equal(e[0].Values, []string{"kube-system"}) {
		t.Errorf("the policy selects %+v", e)
	}
}

type expression struct {
	Key, Operator string
	Values        []string
}

// TestCalicoPolicyBlocksMetadataService, and passes other traffic on: Calico drops traffic that
// no rule of a tier matches. A rule can have addresses of one family. The tier must exist first.
func TestCalicoPolicyBlocksMetadataService(t *testing.T) {
	var tier struct {
		APIVersion, Kind string
		Metadata         struct {
			Name        string
			Annotations map[string]string
		}
		Spec struct{ Order float64 }
	}
	var policy struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Tier, NamespaceSelector string
			Order                   float64
			Types                   []string
			Egress                  []struct {
				Action      string
				Destination struct{ Nets []string }
			}
		}
	}
	documents(t, "deploy/metadata-calico.yaml", &tier, &policy)
	s := policy.Spec
	if tier.Kind != "Tier" || policy.Kind != "GlobalNetworkPolicy" || s.Tier != tier.Metadata.Name ||
		!strings.HasPrefix(policy.Metadata.Name, s.Tier+".") || tier.Spec.Order >= 1000 || !slices.Equal(s.Types, []string{"Egress"}) {
		t.Errorf("the policy is not in a tier before those of Kubernetes: %+v, %+v", tier, policy)
	}
	if !strings.HasPrefix(s.NamespaceSelector, "has(projectcalico.org/name) && ") {
		t.Errorf("the policy also selects machines: %s", s.NamespaceSelector)
	}
	var forbidden []string
	for i, rule := range s.Egress {
		switch last := i == len(s.Egress)-1; {
		case last && rule.Action == "Pass" && rule.Destination.Nets == nil:
		case !last && rule.Action == "Deny" && len(rule.Destination.Nets) == 1:
			forbidden = append(forbidden, rule.Destination.Nets...)
		default:
			t.Errorf("rule %d is %+v", i, rule)
		}
	}
	if !slices.Equal(forbidden, served) {
		t.Errorf("the policy denies %v, want %v", forbidden, served)
	}
}
