package lint

import (
	"strings"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// elsewhere are the domains of other providers of Karpenter.
var elsewhere = []string{"karpenter.k8s.aws/", "karpenter.azure.com/", "karpenter.k8s.gcp/", "eks.amazonaws.com/",
	"karpenter.k8s.alibabacloud/"}

// here are the short names that mean what other providers' labels mean, by what
// those have behind the domain.
var here = map[string]string{
	"instance-cpu": "cpu", "sku-cpu": "cpu", "instance-memory": "memory", "sku-memory": "memory",
	"instance-category": "class", "instance-family": "class", "sku-family": "class", "sku-series": "class",
	"instance-generation": "generation", "sku-version": "generation", "instance-size": "instance_type",
	"sku-name": "instance_type", "instance-gpu-count": "gpu_count", "sku-gpu-count": "gpu_count",
	"instance-gpu-name": "gpu_name", "sku-gpu-name": "gpu_name", "instance-network-bandwidth": "network_out",
	"instance-local-nvme": "disk", "instance-accelerator-count": "accelerated_devices",
}

// foreignLabels finds requirements on labels that only nodes of other providers
// have: here they select nothing.
func foreignLabels(c *checker, p *pool) {
	for _, r := range p.Spec.Template.Spec.Requirements {
		for _, domain := range elsewhere {
			name, foreign := strings.CutPrefix(r.Key, domain)
			if !foreign {
				continue
			}
			meant := " Requirements on Linode's plans are under " + linodev1alpha1.LabelInstanceCPU + " and the like; see " +
				"the reference for their short names."
			if key := here[name]; key != "" {
				meant = " The requirement that means the same here is " + key + "."
			}
			c.report(p.object.Addr, p.requirementPath(r.Key),
				"The label %s is one of another cloud's provider: no plan of Linode has it, and it selects none.%s", r.Key, meant)
		}
	}
}
