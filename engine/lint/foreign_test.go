package lint

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/schemas"
)

// TestLabelsOfOtherClouds are found by their domains.
func TestLabelsOfOtherClouds(t *testing.T) {
	for label, cloud := range map[string]string{
		"karpenter.k8s.aws/instance-category":            "AWS",
		"eks.amazonaws.com/instance-cpu":                 "AWS",
		"topology.k8s.aws/zone-id":                       "AWS",
		"topology.ebs.csi.aws.com/zone":                  "AWS",
		"k8s.amazonaws.com/eniConfig":                    "AWS",
		"karpenter.azure.com/sku-family":                 "Azure",
		"kubernetes.azure.com/sku-cpu":                   "Azure",
		"karpenter.k8s.gcp/instance-family":              "Google Cloud",
		"topology.k8s.gcp/zone-id":                       "Google Cloud",
		"topology.gke.io/zone":                           "Google Cloud",
		"cloud.google.com/gke-spot":                      "Google Cloud",
		"karpenter.k8s.alibabacloud/instance-family":     "Alibaba Cloud",
		"karpenter.alibabacloud.com/instance-cpu":        "Alibaba Cloud",
		"karpenter.hetzner.cloud/server-family":          "Hetzner",
		"instance.hetzner.cloud/provided-by":             "Hetzner",
		"karpenter.k8s.oracle/instance-cpu":              "Oracle Cloud",
		"oci.oraclecloud.com/instance-shape":             "Oracle Cloud",
		"karpenter-ibm.sh/instance-family":               "IBM Cloud",
		"karpenter.do.sh/instance-type-family":           "DigitalOcean",
		"doks.digitalocean.com/node-pool":                "DigitalOcean",
		"karpenter.k8s.tke/instance-memory":              "Tencent Cloud",
		"karpenter.k8s.huawei/instance-cpu":              "Huawei Cloud",
		"karpenter.k8s.upcloud/instance-gpu-model":       "UpCloud",
		"karpenter.ovhcloud.sh/instance-size":            "OVHcloud",
		"karpenter.vultr.com/instance-family":            "Vultr",
		"vke.vultr.com/node-pool":                        "Vultr",
		"karpenter.exoscale.com/instance-family":         "Exoscale",
		"exoscale.com/instance-size":                     "Exoscale",
		"kubernetes.civo.com/civo-node-pool":             "Civo",
		"k8s.scaleway.com/pool":                          "Scaleway",
		"karpenter.yandex.cloud/yandexnodeclass":         "Yandex Cloud",
		"karpenter.proxmox.sinextra.dev/instance-family": "Proxmox",
		"capacity.karpenter.cluster.x-k8s.io/cpu":        "Cluster API",

		// Labels of people, of Kubernetes and of Linode.
		"example.com/instance-family":            "",
		"notcivo.com/pool":                       "",
		"karpenter.sh/nodepool":                  "",
		"node.kubernetes.io/instance-type":       "",
		schemas.NodeClassGroup + "/instance-cpu": "",
		"lke.linode.com/pool-id":                 "",
		"team":                                   "",
		"exoscale.com":                           "",
		"":                                       "",
	} {
		if got := foreign(label); (got == "") != (cloud == "") || !strings.Contains(got, "("+cloud+")") && cloud != "" {
			t.Errorf("%s: %q, want %q", label, got, cloud)
		}
	}
}
