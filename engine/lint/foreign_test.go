package lint

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/schemas"
)

// TestLabelsOfOtherClouds are found, with what to write instead.
func TestLabelsOfOtherClouds(t *testing.T) {
	const (
		zone, spot = "A region of Linode is one zone", "Linode has only the capacity type on-demand"
		plans      = "Use a label of Linode's plan types"
	)
	for label, want := range map[string]string{ // cloud: what to write
		"karpenter.k8s.aws/instance-category":            "AWS: equivalent requirement is class.",
		"karpenter.k8s.aws/instance-memory":              "AWS: equivalent requirement is memory.",
		"karpenter.k8s.aws/instance-generation":          "AWS: equivalent requirement is generation.",
		"karpenter.k8s.aws/instance-gpu-count":           "AWS: equivalent requirement is gpu_count.",
		"karpenter.k8s.aws/instance-hypervisor":          "AWS: " + plans,
		"karpenter.k8s.aws/capacity-reservation-type":    "AWS: " + spot,
		"eks.amazonaws.com/instance-cpu":                 "AWS: equivalent requirement is cpu.",
		"eks.amazonaws.com/capacityType":                 "AWS: " + spot,
		"eks.amazonaws.com/nodegroup":                    "AWS: " + plans,
		"topology.k8s.aws/zone-id":                       "AWS: " + zone,
		"topology.ebs.csi.aws.com/zone":                  "AWS: equivalent requirement is zone.",
		"k8s.amazonaws.com/eniConfig":                    "AWS: " + plans,
		"karpenter.azure.com/sku-family":                 "Azure: equivalent requirement is class.",
		"karpenter.azure.com/sku-name":                   "Azure: equivalent requirement is instance_type.",
		"karpenter.azure.com/placement-scope":            "Azure: " + zone,
		"kubernetes.azure.com/sku-cpu":                   "Azure: equivalent requirement is cpu.",
		"kubernetes.azure.com/scalesetpriority":          "Azure: " + spot,
		"kubernetes.azure.com/mode":                      "Azure: " + plans,
		"karpenter.k8s.gcp/instance-family":              "Google Cloud: equivalent requirement is class.",
		"topology.k8s.gcp/zone-id":                       "Google Cloud: " + zone,
		"topology.gke.io/zone":                           "Google Cloud: equivalent requirement is zone.",
		"cloud.google.com/gke-spot":                      "Google Cloud: " + spot,
		"cloud.google.com/gke-preemptible":               "Google Cloud: " + spot,
		"cloud.google.com/gke-accelerator":               "Google Cloud: equivalent requirement is gpu_name.",
		"cloud.google.com/compute-class":                 "Google Cloud: equivalent requirement is class.",
		"cloud.google.com/gke-nodepool":                  "Google Cloud: " + plans,
		"karpenter.k8s.alibabacloud/instance-family":     "Alibaba Cloud: equivalent requirement is class.",
		"karpenter.alibabacloud.com/instance-cpu":        "Alibaba Cloud: equivalent requirement is cpu.",
		"karpenter.hetzner.cloud/server-family":          "Hetzner: equivalent requirement is class.",
		"instance.hetzner.cloud/provided-by":             "Hetzner: " + plans,
		"karpenter.k8s.oracle/instance-cpu":              "Oracle Cloud: equivalent requirement is cpu.",
		"oci.oraclecloud.com/instance-shape":             "Oracle Cloud: equivalent requirement is instance_type.",
		"karpenter-ibm.sh/instance-family":               "IBM Cloud: equivalent requirement is class.",
		"karpenter.do.sh/instance-type-family":           "DigitalOcean: equivalent requirement is class.",
		"doks.digitalocean.com/node-pool":                "DigitalOcean: " + plans,
		"karpenter.k8s.tke/instance-memory":              "Tencent Cloud: equivalent requirement is memory.",
		"karpenter.k8s.huawei/instance-cpu":              "Huawei Cloud: equivalent requirement is cpu.",
		"karpenter.k8s.upcloud/instance-gpu-model":       "UpCloud: equivalent requirement is gpu_name.",
		"karpenter.ovhcloud.sh/instance-size":            "OVHcloud: equivalent requirement is instance_type.",
		"karpenter.vultr.com/instance-family":            "Vultr: equivalent requirement is class.",
		"vke.vultr.com/node-pool":                        "Vultr: " + plans,
		"karpenter.exoscale.com/instance-family":         "Exoscale: equivalent requirement is class.",
		"exoscale.com/instance-size":                     "Exoscale: equivalent requirement is instance_type.",
		"kubernetes.civo.com/civo-node-pool":             "Civo: " + plans,
		"k8s.scaleway.com/pool":                          "Scaleway: " + plans,
		"karpenter.yandex.cloud/yandexnodeclass":         "Yandex Cloud: " + plans,
		"karpenter.proxmox.sinextra.dev/instance-family": "Proxmox: equivalent requirement is class.",
		"capacity.karpenter.cluster.x-k8s.io/cpu":        "Cluster API: equivalent requirement is cpu.",
		"capacity.karpenter.cluster.x-k8s.io/memory":     "Cluster API: equivalent requirement is memory.",

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
		got := foreign(label, corev1.NodeSelectorOpIn)
		cloud, text, _ := strings.Cut(want, ": ")
		if (got == "") != (want == "") || !strings.Contains(got, "("+cloud+")") && want != "" || !strings.Contains(got, text) {
			t.Errorf("%s: %q, want %q", label, got, want)
		}
		if want != "" && !strings.Contains(got, "the requirement matches no plan type") {
			t.Errorf("%s: %q", label, got)
		}
	}
	if got := foreign("topology.k8s.aws/zone-id", corev1.NodeSelectorOpNotIn); !strings.Contains(got, "the requirement excludes no plan") {
		t.Error(got)
	}
}

// TestWhatIsMeantHereIsAShortName of the language.
func TestWhatIsMeantHereIsAShortName(t *testing.T) {
	for name, short := range here {
		if !slices.ContainsFunc(schemas.Keys(), func(k schemas.Key) bool { return k.Name == short }) {
			t.Errorf("%s: there is no short name %s", name, short)
		}
		if needless[name] != "" {
			t.Errorf("%s has two meanings", name)
		}
	}
}
