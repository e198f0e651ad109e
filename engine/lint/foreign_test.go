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
		zone, spot = "A region of Linode is one zone", "Linode sells on demand only"
		plans      = "Requirements on Linode's plans are under "
	)
	for label, want := range map[string]string{ // cloud: what to write
		"karpenter.k8s.aws/instance-category":            "AWS: means the same here is class.",
		"karpenter.k8s.aws/instance-memory":              "AWS: means the same here is memory.",
		"karpenter.k8s.aws/instance-generation":          "AWS: means the same here is generation.",
		"karpenter.k8s.aws/instance-gpu-count":           "AWS: means the same here is gpu_count.",
		"karpenter.k8s.aws/instance-hypervisor":          "AWS: " + plans,
		"karpenter.k8s.aws/capacity-reservation-type":    "AWS: " + spot,
		"eks.amazonaws.com/instance-cpu":                 "AWS: means the same here is cpu.",
		"eks.amazonaws.com/capacityType":                 "AWS: " + spot,
		"eks.amazonaws.com/nodegroup":                    "AWS: " + plans,
		"topology.k8s.aws/zone-id":                       "AWS: " + zone,
		"topology.ebs.csi.aws.com/zone":                  "AWS: means the same here is zone.",
		"k8s.amazonaws.com/eniConfig":                    "AWS: " + plans,
		"karpenter.azure.com/sku-family":                 "Azure: means the same here is class.",
		"karpenter.azure.com/sku-name":                   "Azure: means the same here is instance_type.",
		"karpenter.azure.com/placement-scope":            "Azure: " + zone,
		"kubernetes.azure.com/sku-cpu":                   "Azure: means the same here is cpu.",
		"kubernetes.azure.com/scalesetpriority":          "Azure: " + spot,
		"kubernetes.azure.com/mode":                      "Azure: " + plans,
		"karpenter.k8s.gcp/instance-family":              "Google Cloud: means the same here is class.",
		"topology.k8s.gcp/zone-id":                       "Google Cloud: " + zone,
		"topology.gke.io/zone":                           "Google Cloud: means the same here is zone.",
		"cloud.google.com/gke-spot":                      "Google Cloud: " + spot,
		"cloud.google.com/gke-preemptible":               "Google Cloud: " + spot,
		"cloud.google.com/gke-accelerator":               "Google Cloud: means the same here is gpu_name.",
		"cloud.google.com/compute-class":                 "Google Cloud: means the same here is class.",
		"cloud.google.com/gke-nodepool":                  "Google Cloud: " + plans,
		"karpenter.k8s.alibabacloud/instance-family":     "Alibaba Cloud: means the same here is class.",
		"karpenter.alibabacloud.com/instance-cpu":        "Alibaba Cloud: means the same here is cpu.",
		"karpenter.hetzner.cloud/server-family":          "Hetzner: means the same here is class.",
		"instance.hetzner.cloud/provided-by":             "Hetzner: " + plans,
		"karpenter.k8s.oracle/instance-cpu":              "Oracle Cloud: means the same here is cpu.",
		"oci.oraclecloud.com/instance-shape":             "Oracle Cloud: means the same here is instance_type.",
		"karpenter-ibm.sh/instance-family":               "IBM Cloud: means the same here is class.",
		"karpenter.do.sh/instance-type-family":           "DigitalOcean: means the same here is class.",
		"doks.digitalocean.com/node-pool":                "DigitalOcean: " + plans,
		"karpenter.k8s.tke/instance-memory":              "Tencent Cloud: means the same here is memory.",
		"karpenter.k8s.huawei/instance-cpu":              "Huawei Cloud: means the same here is cpu.",
		"karpenter.k8s.upcloud/instance-gpu-model":       "UpCloud: means the same here is gpu_name.",
		"karpenter.ovhcloud.sh/instance-size":            "OVHcloud: means the same here is instance_type.",
		"karpenter.vultr.com/instance-family":            "Vultr: means the same here is class.",
		"vke.vultr.com/node-pool":                        "Vultr: " + plans,
		"karpenter.exoscale.com/instance-family":         "Exoscale: means the same here is class.",
		"exoscale.com/instance-size":                     "Exoscale: means the same here is instance_type.",
		"kubernetes.civo.com/civo-node-pool":             "Civo: " + plans,
		"k8s.scaleway.com/pool":                          "Scaleway: " + plans,
		"karpenter.yandex.cloud/yandexnodeclass":         "Yandex Cloud: " + plans,
		"karpenter.proxmox.sinextra.dev/instance-family": "Proxmox: means the same here is class.",
		"capacity.karpenter.cluster.x-k8s.io/cpu":        "Cluster API: means the same here is cpu.",
		"capacity.karpenter.cluster.x-k8s.io/memory":     "Cluster API: means the same here is memory.",

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
		if want != "" && !strings.Contains(got, "it selects none") {
			t.Errorf("%s: %q", label, got)
		}
	}
	if got := foreign("topology.k8s.aws/zone-id", corev1.NodeSelectorOpNotIn); !strings.Contains(got, "it excludes none") {
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
