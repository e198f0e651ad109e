package lke

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

func TestClassProblem(t *testing.T) {
	firewall, version, minor := 7, "v1.33.4+lke2", "1.33"
	tests := []struct {
		name string
		spec linodev1alpha1.LinodeNodeClassSpec
		tier catalog.Tier
		want string
	}{
		{"nothing asked for", linodev1alpha1.LinodeNodeClassSpec{}, catalog.Standard, ""},
		{
			"what another provider's guide has", linodev1alpha1.LinodeNodeClassSpec{Image: "linode/ubuntu22.04"},
			catalog.Standard, "",
		},
		{"a short tag", linodev1alpha1.LinodeNodeClassSpec{Tags: []string{"ab"}}, catalog.Standard, "3 to 50"},
		{
			"a long tag", linodev1alpha1.LinodeNodeClassSpec{Tags: []string{strings.Repeat("x",
				51)}}, catalog.Standard, "3 to 50",
		},
		{
			"a tag of ours", linodev1alpha1.LinodeNodeClassSpec{Tags: []string{"LKEPLAN-group=1"}}, catalog.Standard, "own tags",
		},
		{
			"a firewall on standard, which has no effect", linodev1alpha1.LinodeNodeClassSpec{FirewallID: &firewall},
			catalog.Standard, "",
		},
		{
			"a version of Enterprise on standard", linodev1alpha1.LinodeNodeClassSpec{LKEK8sVersion: &version},
			catalog.Standard, "spec.lkeK8sVersion: \"v1.33.4+lke2\" is not a version of LKE, which",
		},
		{"a version on standard", linodev1alpha1.LinodeNodeClassSpec{LKEK8sVersion: &minor}, catalog.Standard, ""},
		{
			"a version of standard on Enterprise", linodev1alpha1.LinodeNodeClassSpec{LKEK8sVersion: &minor},
			catalog.Enterprise, "is not a version of LKE Enterprise",
		},
		{
			"both on Enterprise", linodev1alpha1.LinodeNodeClassSpec{
				FirewallID: &firewall, LKEK8sVersion: &version,
			}, catalog.Enterprise, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ClassProblem(tt.spec, tt.tier)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("problem = %q, want %q", got, tt.want)
			}
		})
	}
}
