package lint

import (
	"fmt"
	"strings"

	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/lkeplan/lkeplan/schemas"
)

// elsewhere maps the label domains of other Karpenter providers and clouds to their names.
// Subdomains count as well: capacity.karpenter.cluster.x-k8s.io.
var elsewhere = map[string]string{
	"karpenter.k8s.aws": "AWS", "eks.amazonaws.com": "AWS", "k8s.amazonaws.com": "AWS", "topology.k8s.aws": "AWS",
	"topology.ebs.csi.aws.com": "AWS", "vpc.amazonaws.com": "AWS",
	"karpenter.azure.com": "Azure", "karpenter.k8s.azure": "Azure", "kubernetes.azure.com": "Azure", "topology.disk.csi.azure.com": "Azure",
	"karpenter.k8s.gcp": "Google Cloud", "cloud.google.com": "Google Cloud", "topology.k8s.gcp": "Google Cloud", "gke.io": "Google Cloud",
	"karpenter.k8s.alibabacloud": "Alibaba Cloud", "alibabacloud.com": "Alibaba Cloud",
	"hetzner.cloud":        "Hetzner",
	"karpenter.k8s.oracle": "Oracle Cloud", "oci.oraclecloud.com": "Oracle Cloud",
	"karpenter-ibm.sh": "IBM Cloud", "ibm-cloud.kubernetes.io": "IBM Cloud",
	"karpenter.do.sh": "DigitalOcean", "digitalocean.com": "DigitalOcean",
	"karpenter.k8s.tke": "Tencent Cloud", "cloud.tencent.com": "Tencent Cloud",
	"karpenter.k8s.huawei":           "Huawei Cloud",
	"karpenter.k8s.upcloud":          "UpCloud",
	"karpenter.ovhcloud.sh":          "OVHcloud",
	"karpenter.vultr.com":            "Vultr",
	"vke.vultr.com":                  "Vultr",
	"exoscale.com":                   "Exoscale",
	"civo.com":                       "Civo",
	"k8s.scaleway.com":               "Scaleway",
	"yandex.cloud":                   "Yandex Cloud",
	"karpenter.proxmox.sinextra.dev": "Proxmox",
	"karpenter.cluster.x-k8s.io":     "Cluster API",
	"karpenter.kwok.sh":              "KWOK",
}

// Cloud is the cloud or provider of a label or an API group; "" if unknown.
func Cloud(label string) string {
	domain, _, _ := strings.Cut(label, "/")
	for domain != "" {
		if cloud := elsewhere[domain]; cloud != "" {
			return cloud
		}
		_, domain, _ = strings.Cut(domain, ".")
	}
	return ""
}

// foreign describes the problem of a requirement on a label of another cloud; "" if there is none.
func foreign(label string) string {
	cloud := Cloud(label)
	if cloud == "" || !strings.Contains(label, "/") {
		return ""
	}
	return fmt.Sprintf("The label %s belongs to another provider (%s): no plan type of Linode has it, so the requirement does not "+
		"select plan types. \"lkeplan explain pool.requirements\" lists the labels of plan types.", label, cloud)
}

// foreignLabels finds requirements of pools and overlays on labels that only nodes of other providers have.
func foreignLabels(c *checker) {
	for _, p := range c.pools {
		for _, r := range p.Spec.Template.Spec.Requirements {
			if wrong := foreign(r.Key); wrong != "" {
				c.report(p.object.Addr, p.requirementPath(r.Key), "%s", wrong)
			}
		}
	}
	for object, overlay := range typed[v1alpha1.NodeOverlay](c, schemas.Overlay.Object.Kind) {
		for i, r := range overlay.Spec.Requirements {
			if wrong := foreign(r.Key); wrong != "" {
				c.report(object.Addr, fmt.Sprintf("spec.requirements.%d", i), "%s", wrong)
			}
		}
	}
}
