package lint

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"

	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
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

// here maps the names of other providers' labels, without the domain, to equivalent short names.
var here = map[string]string{
	"instance-cpu": "cpu", "sku-cpu": "cpu", "cpu": "cpu", "vcpu": "cpu",
	"instance-memory": "memory", "sku-memory": "memory", "memory": "memory",
	"instance-category": "class", "instance-family": "class", "sku-family": "class", "sku-series": "class", "server-family": "class",
	"server-type-line": "class", "instance-type-family": "class", "machine-family": "class", "compute-class": "class", "cpu-type": "class",
	"instance-generation": "generation", "sku-version": "generation",
	"instance-size": "instance_type", "sku-name": "instance_type", "instance-shape": "instance_type", "instance-shape-name": "instance_type",
	"instance-gpu-count": "gpu_count", "sku-gpu-count": "gpu_count", "gke-accelerator-count": "gpu_count",
	"instance-gpu-name": "gpu_name", "sku-gpu-name": "gpu_name", "instance-gpu-model": "gpu_name", "gke-accelerator": "gpu_name",
	"accelerator":                "gpu_name",
	"instance-network-bandwidth": "network_out",
	"instance-local-nvme":        "disk", "instance-storage-size": "disk", "instance-disk": "disk",
	"instance-accelerator-count": "accelerated_devices",
	"zone":                       "zone", "region": "region", "arch": "arch",
}

// needless maps labels that need no requirement on Linode to the reason.
var needless = map[string]string{
	"zone-id": oneZone, "availability-zone": oneZone, "placement-scope": oneZone, "network-zone": oneZone,
	"capacityType": onDemand, "capacity-type": onDemand, "scalesetpriority": onDemand, "priority": onDemand, "gke-spot": onDemand,
	"gke-preemptible": onDemand, "gke-provisioning": onDemand, "capacity-reservation-type": onDemand, "capacity-reservation-id": onDemand,
}

const (
	oneZone  = "A region of Linode is one zone"
	onDemand = "Linode has only the capacity type on-demand"
)

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

// instead says what to write instead of a label of another cloud.
func instead(label string) string {
	name := label[strings.Index(label, "/")+1:]
	switch {
	case needless[name] != "":
		return needless[name] + ": remove the requirement."
	case here[name] != "":
		return "The equivalent requirement is " + here[name] + "."
	}
	return "Use a label of Linode's plan types, such as " + linodev1alpha1.LabelInstanceCPU + ". \"lkeplan explain pool.requirements\" lists their " +
		"short names."
}

// foreign describes the problem of a requirement on a label of another cloud; "" if there is none.
func foreign(label string, operator corev1.NodeSelectorOperator) string {
	cloud := Cloud(label)
	if cloud == "" || !strings.Contains(label, "/") {
		return ""
	}
	effect := "matches no plan type"
	if operator == corev1.NodeSelectorOpNotIn || operator == corev1.NodeSelectorOpDoesNotExist {
		effect = "excludes no plan type"
	}
	return fmt.Sprintf("The label %s belongs to another provider (%s): no plan type of Linode has it, so the requirement %s. %s",
		label, cloud, effect, instead(label))
}

// foreignLabels finds requirements of pools and overlays on labels that only nodes of other providers have.
func foreignLabels(c *checker) {
	for _, p := range c.pools {
		for _, r := range p.Spec.Template.Spec.Requirements {
			if wrong := foreign(r.Key, r.Operator); wrong != "" {
				c.report(p.object.Addr, p.requirementPath(r.Key), "%s", wrong)
			}
		}
	}
	for object, overlay := range typed[v1alpha1.NodeOverlay](c, schemas.Overlay.Object.Kind) {
		for i, r := range overlay.Spec.Requirements {
			if wrong := foreign(r.Key, r.Operator); wrong != "" {
				c.report(object.Addr, fmt.Sprintf("spec.requirements.%d", i), "%s", wrong)
			}
		}
	}
}
