package e2e

import (
	"fmt"
	"strings"
)

// situation is a pool, a pod that asks for a node of it, and what is to be said of that.
type situation struct {
	name  string
	pool  string // arguments of its block in addition to the node class and labels
	base  string // what its pods were before, as in pod: they run; "" for none
	pod   string // of the pod's spec, each line indented by six spaces; "CPU N" is all that it asks for
	says  string // why of the pool, or, where it would create a node, the plan type of that
	helps func(s *sandbox)
}

const four = `requirements = { class = "standard", cpu = 4 }`

// refusals are why pods have no node, and what helps, which why says.
var refusals = []situation{
	{
		name: "taint", pool: four + "\n  taints = [\"example.com/batch:NoSchedule\"]", pod: "CPU 1",
		says:  "the pod does not tolerate example.com/batch:NoSchedule",
		helps: podHas("taint", `"tolerations":[{"key":"example.com/batch","operator":"Exists"}]`),
	},
	{
		name: "label", pool: four, pod: "CPU 1\n      nodeSelector: {case: label, example.com/disk: ssd}",
		says:  "the pod selects nodes by the label example.com/disk, which the nodes of the pool do not have",
		helps: nodesHave("label", "example.com/disk", "ssd"),
	},
	{
		name: "affinity", pool: four, pod: "CPU 1\n" + nodeAffinity("example.com/tier", "gold"),
		says:  "the pod requires example.com/tier In [gold], and the nodes of the pool have example.com/tier In [silver]",
		helps: nodesHave("affinity", "example.com/tier", "gold"),
	},
	{
		name: "zone", pool: four, pod: "CPU 1\n      nodeSelector: {case: zone, topology.kubernetes.io/zone: us-ord}",
		says:  "the pod requires topology.kubernetes.io/zone In [us-ord], and all nodes of the cluster are in us-southeast",
		helps: podHas("zone", `"nodeSelector":{"topology.kubernetes.io/zone":null}`),
	},
	{
		name: "arch", pool: four, pod: "CPU 1\n      nodeSelector: {case: arch, kubernetes.io/arch: arm64}",
		says:  "the pod requires kubernetes.io/arch In [arm64], and the plan types of the pool have amd64",
		helps: podHas("arch", `"nodeSelector":{"kubernetes.io/arch":null}`),
	},
	{
		name: "spot", pool: four, pod: "CPU 1\n      nodeSelector: {case: spot, karpenter.sh/capacity-type: spot}",
		says:  "the pod requires karpenter.sh/capacity-type In [spot], and the nodes of the pool have",
		helps: podHas("spot", `"nodeSelector":{"karpenter.sh/capacity-type":null}`),
	},
	{
		name: "plan", pool: four,
		pod:   "CPU 1\n      nodeSelector: {case: plan, node.kubernetes.io/instance-type: g6-standard-8}",
		says:  "the pod requires node.kubernetes.io/instance-type In [g6-standard-8]",
		helps: podHas("plan", `"nodeSelector":{"node.kubernetes.io/instance-type":"g6-standard-4"}`),
	},
	{
		name: "gpu", pool: four, pod: "CPU 1, nvidia.com/gpu: 1",
		says:  "the pod requests 1 of nvidia.com/gpu, and the largest plan type of the pool has 0",
		helps: poolAllows("gpu", "gpu"),
	},
	{
		name: "memory", pool: four, pod: "CPU 1, memory: 20Gi",
		says:  "the pod requests 20Gi of memory, and the largest plan type of the pool has",
		helps: poolAllows("memory", "highmem"),
	},
	{
		name: "daemons", pool: four, pod: "CPU 3700m", says: "the largest plan type of the pool is too small for the pod and the pods of DaemonSets",
		helps: func(s *sandbox) { s.kube("", "delete", "daemonset", "daemons") },
	},
	{
		name: "limit", pool: four + "\n  limits = { cpu = 6 }", base: "CPU 3", pod: "CPU 3",
		says: "to create one more such node, raise the limit to 8 CPUs", helps: func(s *sandbox) { s.limits("limit", `"cpu":"8"`) },
	},
	{
		name: "capped", pool: four, base: "CPU 3", pod: "CPU 3", says: "to create one more such node, raise the limit to 8 CPUs",
		helps: func(s *sandbox) {
			s.merge("capacitylimit", "capped", `{"spec":{"cpu":"8"}}`)
		},
	},
	{
		name: "dear", pool: four, base: "CPU 3", pod: "CPU 3", says: "to create one more such node, raise the limit to $96 a month",
		helps: func(s *sandbox) {
			s.merge("capacitylimit", "dear", `{"spec":{"monthlyCost":"96.00"}}`)
		},
	},
	{
		name: "stock", pool: `requirements = { class = "standard", cpu = 6 }`, pod: "CPU 1",
		says: "Linode has no capacity in us-southeast for g6-standard-6", helps: func(s *sandbox) { s.clearFaults() },
	},
	{
		name: "spread", pool: four,
		pod: "CPU 1\n      topologySpreadConstraints:\n        - {maxSkew: 1, " +
			"topologyKey: example.com/rack, " +
			"whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: spread}}}",
		says: "be spread over example.com/rack", helps: nodesHave("spread", "example.com/rack", "a"),
	},
	{
		name: "apart", pool: four, base: "CPU 1",
		pod: "CPU 1\n" + strings.ReplaceAll(fmt.Sprintf(affinityTo, "podAntiAffinity", "apart-base"),
			"kubernetes.io/hostname", "topology.kubernetes.io/zone"),
		says:  "be placed apart from other pods, by topology.kubernetes.io/zone",
		helps: func(s *sandbox) { s.deleteDeployments("apart-base") },
	},
	{
		name: "near", pool: four, pod: "CPU 1\n" + fmt.Sprintf(affinityTo, "podAffinity", "near-base"),
		says:  "be placed near pods that it has an affinity to",
		helps: func(s *sandbox) { s.kube(podFor("near-base", "near", "CPU 1"), "apply", "-f", "-") },
	},
	{
		name: "volume", pool: four, pod: "CPU 1\n" + volume("data"),
		says: "the volumes of the pod need a node with topology.kubernetes.io/zone In [us-ord]",
		helps: func(s *sandbox) {
			s.kube("", "delete", "deployment", "volume", "--cascade=foreground", "--wait")
			s.kube("", "delete", "pvc", "data")
			s.kube("", "delete", "pv", "data")
			s.kube(bound("data", "us-southeast")+podFor("volume", "volume", "CPU 1\n"+volume("data")), "apply", "-f", "-")
		},
	},
	{
		name: "unbound", pool: four, pod: "CPU 1\n" + volume("later"),
		says:  "PersistentVolumeClaim later does not exist",
		helps: func(s *sandbox) { s.kube(bound("later", "us-southeast"), "apply", "-f", "-") },
	},
	{
		name: "class", pool: four, pod: "CPU 1", says: "it is not ready: spec.lkeK8sVersion: ",
		helps: func(s *sandbox) {
			s.merge("linodenodeclass", "broken", `{"spec":{"lkeK8sVersion":null}}`)
		},
	},
	{
		name: "static", pool: four + "\n  replicas = 0", pod: "CPU 1", says: "it has a fixed number of nodes",
		helps: func(s *sandbox) {
			s.merge("nodepool", "static", `{"spec":{"replicas":1}}`)
		},
	},
	{
		name: "choice", pool: `requirements = { class = ["standard", "dedicated"], cpu = 4 }`, pod: "CPU 1",
		says: "the plan types of the pool do not meet minValues", helps: func(s *sandbox) { s.minValues("choice", 2) },
	},
	{
		name: "preempted", pool: four + "\n  limits = { nodes = 1 }", base: "CPU 3\n      priorityClassName: important",
		pod:  "CPU 3",
		says: "to create one more such node, raise the limit to 2 nodes", helps: func(s *sandbox) { s.limits("preempted", `"nodes":"2"`) },
	},
	{
		name: "gate", pool: four, pod: "CPU 1\n      schedulingGates: [{name: example.com/quota}]",
		says: "the scheduling gate example.com/quota blocks the pod", helps: podHas("gate", `"schedulingGates":null`),
	},
	{
		name: "condemned", pool: four, base: "CPU 3", pod: "CPU 3", says: "it is draining",
	},
}

// placings are pods that Karpenter creates a node for, and which one.
var placings = []situation{
	{name: "weight", pool: `requirements = { class = "standard", cpu = 8 }` + "\n  weight = 10",
		pod: "CPU 1", says: "g6-standard-8"},
	{name: "startup", pool: four + "\n  startup_taints = [\"example.com/wait:NoSchedule\"]",
		pod: "CPU 1", says: "g6-standard-4"},
	{name: "port", pool: four, base: "CPU 100m\nPORT 8080", pod: "CPU 100m\nPORT 8080", says: "g6-standard-4"},
	{name: "size", pool: `requirements = { class = "standard", cpu = between(2, 8) }`,
		pod: "CPU 3", says: "g6-standard-4"},
	{name: "another", pool: `requirements = { class = "standard", cpu = [6, 8] }`,
		pod: "CPU 1", says: "g6-standard-8"},
}

// podHas sets fields of the pods of a Deployment.
func podHas(name, fields string) func(s *sandbox) {
	return func(s *sandbox) {
		s.merge("deployment", name, `{"spec":{"template":{"spec":{`+fields+`}}}}`)
	}
}

// nodesHave sets a label of the nodes of a pool.
func nodesHave(pool, key, value string) func(s *sandbox) {
	return func(s *sandbox) {
		s.merge("nodepool", pool,
			fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, key, value))
	}
}

// poolAllows has a pool make nodes of a class of plan types only.
func poolAllows(pool, class string) func(s *sandbox) {
	return func(s *sandbox) {
		s.merge("nodepool", pool, fmt.Sprintf(`{"spec":{"template":{"spec":{"requirements":[
			{"key":"karpenter.sh/capacity-type","operator":"In","values":["on-demand"]},
			{"key":"karpenter.k8s.linode/instance-class","operator":"In","values":[%q]}]}}}}`, class))
	}
}

func (s *sandbox) limits(pool, limits string) {
	s.merge("nodepool", pool, `{"spec":{"limits":{`+limits+`}}}`)
}

// minValues has a pool of plan types with 4 CPUs want so many of them to choose from.
func (s *sandbox) minValues(pool string, n int) {
	s.merge("nodepool", pool, fmt.Sprintf(`{"spec":{"template":{"spec":{"requirements":[
		{"key":"karpenter.sh/capacity-type","operator":"In","values":["on-demand"]},
		{"key":"karpenter.k8s.linode/instance-class","operator":"In","values":["standard","dedicated"]},
		{"key":"karpenter.k8s.linode/instance-cpu","operator":"In","values":["4"]},
		{"key":"node.kubernetes.io/instance-type","operator":"Exists","minValues":%d}]}}}}`, n))
}

func nodeAffinity(key, value string) string {
	return fmt.Sprintf(`      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms: [{matchExpressions: [{key: %s, operator: In, values: [%s]}]}]`, key, value)
}

func volume(claim string) string {
	return fmt.Sprintf("      volumes: [{name: v, persistentVolumeClaim: {claimName: %s}}]", claim)
}

// bound is a PersistentVolumeClaim and its volume, which can be used in a zone only.
func bound(name, zone string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  claimRef: {namespace: default, name: %[1]s}
  nfs: {server: 192.0.2.1, path: /}
  nodeAffinity:
    required:
      nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [%[2]s]}]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %[1]s}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: %[1]s, resources: {requests: {storage: 1Gi}}}
---
`, name, zone)
}

// podFor is one pod for the pool of a case. Of its text, "CPU N" is what it asks for,
// and "PORT N" a port of the node.
func podFor(name, of, pod string) string {
	requests, more, _ := strings.Cut(pod, "\n")
	port := ""
	if n, found := strings.CutPrefix(more, "PORT "); found {
		port, more = fmt.Sprintf("\n          ports: [{containerPort: %s, hostPort: %[1]s}]", n), ""
	}
	if cpu, gpus, found := strings.Cut(requests, ", nvidia"); found { // which is no request without a limit
		requests = cpu + "}, limits: {nvidia" + gpus
	}
	if !strings.Contains(more, "nodeSelector:") {
		more += "\n      nodeSelector: {case: " + of + "}"
	}
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
%[2]s
      containers:
        - name: c
          image: registry.k8s.io/pause:3.10
          resources: {requests: {cpu: %[3]s}}%[4]s
---
`, name, strings.Trim(more, "\n"), strings.TrimPrefix(requests, "CPU "), port)
}
