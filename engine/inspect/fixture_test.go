package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// largeCluster is a cluster of 200 pools with 1,000 nodes, of which every twentieth will be
// replaced, 5,000 pods and 500 waiting ones.
func largeCluster(t testing.TB) (objects []client.Object) {
	const pool = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: pool-%[1]d}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}
      requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [g6-standard-4]}]
  disruption: {consolidateAfter: 5m, budgets: [{nodes: "10%%"}]}
`
	const nodes = `# times 5
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: pool-%[1]d-NNN, labels: {karpenter.sh/nodepool: pool-%[1]d, node.kubernetes.io/instance-type: %[2]s, topology.kubernetes.io/region: us-ord}}
spec: {nodeClassRef: {group: karpenter.k8s.linode, kind: LinodeNodeClass, name: default}}
status: {nodeName: lke1-%[1]d-NNN, providerID: "linode://%[1]dNNN"}
---
# times 5
apiVersion: v1
kind: Node
metadata: {name: lke1-%[1]d-NNN, labels: {karpenter.sh/nodepool: pool-%[1]d, node.kubernetes.io/instance-type: %[2]s, topology.kubernetes.io/region: us-ord}}
status: {conditions: [{type: Ready, status: "True"}], allocatable: {cpu: "4", memory: 7Gi}}
---
# times 25
apiVersion: v1
kind: Pod
metadata: {name: pod-%[1]d-NNN, namespace: shop, labels: {app: shop-%[1]d}}
spec: {nodeName: lke1-%[1]d-%[3]d, containers: [{name: c, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
status: {phase: Running}
`
	const waiting = `# times 25
apiVersion: v1
kind: Pod
metadata:
  name: wait-%[1]d-NNN
  namespace: shop
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: job-%[1]d, uid: "%[1]d", controller: true}]
spec: {containers: [{name: c, resources: {requests: {cpu: "2", memory: 1Gi}}}]}
status: {phase: Pending}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop-%[1]d, namespace: shop}
spec: {selector: {matchLabels: {app: shop-%[1]d}}}
status: {disruptionsAllowed: 0}
`
	var docs []string
	for i := range 200 {
		plan := "g6-standard-4"
		if i%20 == 0 {
			plan = "g6-standard-6" // which the pool no longer allows
		}
		docs = append(docs, fmt.Sprintf(pool, i), fmt.Sprintf(nodes, i, plan, i%5))
	}
	for i := range 20 {
		docs = append(docs, fmt.Sprintf(waiting, i))
	}
	return objectsOf(t, []byte(strings.Join(docs, "---\n")))
}
