package inspect

import (
	"strings"
	"testing"
	"time"
)

// deployment is the one that creates nodes, with the fields of its container.
func deployment(container string) string {
	return `{metadata: {namespace: a, name: lkeplan-controller, labels: {app.kubernetes.io/part-of: lkeplan}},
		spec: {template: {spec: {containers: [{` + container + `}]}}}}`
}

const (
	clusterInfo = `{metadata: {namespace: kube-public, name: cluster-info}}`
	mayAsk      = `{metadata: {name: lkeplan-machines}, roleRef: {name: lkeplan-machines},
		subjects: [{kind: Group, name: "system:bootstrappers:lkeplan"}]}`
	ofKubeadm = `{metadata: {name: "kubeadm:node-autoapprove-bootstrap"},
		roleRef: {name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
		subjects: [{kind: Group, name: "system:bootstrappers:kubeadm:default-node-token"}]}`
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// unjoinedEvent is about the machine of a NodeClaim that cannot join.
func unjoinedEvent(name, uid, says, at string) string {
	return `{metadata: {name: e, namespace: default}, reason: MachineCannotJoin, type: Warning, message: ` + says +
		`, lastTimestamp: "2026-11-26T` + at + `:00Z", involvedObject: {kind: NodeClaim, name: ` + name + `, uid: ` + uid + `}}`
}

// TestJoinChecks run in instance mode, whether the flag or the Deployment sets it.
func TestJoinChecks(t *testing.T) {
	good := ward{"ConfigMap": {clusterInfo}, "ClusterRoleBinding": {ofKubeadm, mayAsk},
		"Deployment": {deployment(`env: [{name: KARPENTER_MODE, value: instance}, {name: CLUSTER_NAME, value: prod},
			{name: LINODE_REGION, value: us-ord}]`)}}
	with := func(kind string, objects ...string) ward {
		changed := ward{}
		for k, v := range good {
			changed[k] = v
		}
		changed[kind] = objects
		return changed
	}
	own := Installation{Instances: true, Name: "prod", Region: "us-ord"}
	tests := map[string]struct {
		given   Installation
		in      ward
		version string
		want    []string // "" for each that is ok
	}{
		"all is well":            {in: good, want: []string{"", "", ""}},
		"it runs outside":        {given: own, in: with("Deployment"), want: []string{"", "", ""}},
		"a cluster of LKE":       {in: with("Deployment", deployment(`env: [{name: LKE_CLUSTER_ID, value: "77"}]`)), want: nil},
		"nothing is known of it": {in: with("Deployment"), want: nil},
		"flags say it": {in: with("Deployment", deployment(`args: ["--mode=instance", "--region", us-ord, "--cluster-name=prod"]`)),
			want: []string{"", "", ""}},
		"the name of no cluster": {given: Installation{Name: "Prod_1"}, in: good,
			want: []string{`fail: the cluster cannot be called "Prod_1": the labels of Linodes`, "", ""}},
		"no name, and no region": {given: Installation{Instances: true}, in: with("Deployment"),
			want: []string{`fail: the cluster cannot be called ""`, "fail: the region is missing", "", ""}},
		"a number of LKE's": {in: with("Deployment", deployment(`env: [{name: KARPENTER_MODE, value: instance},
			{name: CLUSTER_NAME, value: prod}, {name: LINODE_REGION, value: us-ord}, {name: LKE_CLUSTER_ID, value: "77"}]`)),
			want: []string{"fail: the controller does not start with LKE_CLUSTER_ID", "", ""}},
		"no cluster-info": {in: with("ConfigMap"),
			want: []string{"", "fail: there is no ConfigMap kube-public/cluster-info", ""}},
		"no cluster-info, and an address": {given: Installation{Endpoint: "https://10.0.0.2:6443"}, in: with("ConfigMap"),
			want: []string{"", "warn: machines connect to https://10.0.0.2:6443, and there is no ConfigMap", ""}},
		"no cluster-info of k3s": {given: Installation{Endpoint: "https://10.0.0.2:6443"}, in: with("ConfigMap"),
			version: "v1.33.1+k3s1", want: []string{"", "", ""}},
		"machines cannot request certificates": {in: with("ClusterRoleBinding", ofKubeadm, strings.Replace(mayAsk, "Group", "User", 1)),
			want: []string{"", "", "fail: no ClusterRoleBinding lets the group system:bootstrappers:lkeplan request"}},
		"any token gets the certificate of any Node": {
			in:   with("ClusterRoleBinding", mayAsk, strings.Replace(ofKubeadm, ":kubeadm:default-node-token", "", 1)),
			want: []string{"", "", "warn: the ClusterRoleBinding kubeadm:node-autoapprove-bootstrap lets anyone with the token of a machine get"}},
		"a machine does not join": {in: with("Event", unjoinedEvent("web-1", "u1", "swap", "11:20"), unjoinedEvent("web-2", "u2", "clock", "11:30")),
			want: []string{"", "", "", "warn: NodeClaim web-2, at 11:30 UTC: clock"}},
		"a machine has not joined, and its NodeClaim is deleted": {in: with("Event", unjoinedEvent("web-1", "u1", "swap", "11:20")),
			want: []string{"", "", "", "warn: NodeClaim web-1, at 11:20 UTC: swap"}},
		"it was long ago": {in: with("Event", unjoinedEvent("web-1", "u1", "swap", "10:59")), want: []string{"", "", ""}},
		"it has joined since": {in: ward{"ConfigMap": good["ConfigMap"], "ClusterRoleBinding": good["ClusterRoleBinding"],
			"Deployment": good["Deployment"], "Event": {unjoinedEvent("web-1", "u1", "swap", "11:20")},
			"NodeClaim": {`{metadata: {name: web-1, uid: u1}, status: {conditions: [{type: Registered, status: "True"}]}}`}},
			want: []string{"", "", ""}},
		"k3s needs no binding": {in: with("ClusterRoleBinding"), version: "v1.33.1+k3s1", want: []string{"", "", ""}},
	}
	for name, tt := range tests {
		tt.given.Cluster, tt.given.Now = examined{ward: tt.in, version: tt.version}, func() time.Time { return noon }
		found := tt.given.joins(t.Context())
		if len(found) != len(tt.want) {
			t.Errorf("%s: %+v, want %q", name, found, tt.want)
			continue
		}
		for i, f := range found {
			said := string(f.Level) + ": " + f.Text
			if well := tt.want[i] == ""; well != (f.Level == LevelOK) || !strings.HasPrefix(said, tt.want[i]) || !well && f.Do == "" {
				t.Errorf("%s: %+v, want %q", name, f, tt.want[i])
			}
		}
	}
}
