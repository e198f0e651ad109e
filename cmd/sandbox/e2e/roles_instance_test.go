package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/lkeplan/lkeplan/kube"
)

// seldomInInstanceMode are rights that the scenario does not need, with what needs them.
var seldomInInstanceMode = map[string]string{
	" get nodeclaims ":            "a claim that is deleted because its plan type is out of stock",
	" get nodes ":                 "a Linode that no claim owns, before it is deleted",
	"kube-system update secrets ": "a token that is used after ten minutes",
	"lkeplan-system patch configmaps lkeplan-cluster": "a second start, for the note which cluster this is",
	"kube-system get configmaps kube-root-ca.crt":     "a cluster without kube-public/cluster-info",
	" list certificatesigningrequests ":               "an API server that does not stream lists",
	" approve signers kubernetes.io/kube-apiserver-client-kubelet": "each approval, by what admits it, which is not " +
		"logged",
}

// TestRolesOfInstanceModeAreExact runs the part that makes nodes as the account that the
// chart makes for it in instance mode, for two nodes that come and go, and a class with a
// template of user data. No call may be refused, and no right may be unused.
func TestRolesOfInstanceModeAreExact(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance", "--audit")
	s.helm("install", "lkeplan", chart, "--namespace", "lkeplan-system", "--create-namespace", "--set",
		"settings.mode=instance,settings.clusterName=sandbox,region=us-ord,apiToken=none,replicas=0,gitops.replicas=0,"+setImage)
	c := s.chartController()
	s.kube(templated, "apply", "-f", "-")
	s.kube("", "wait", "linodenodeclass/templated", "--for=condition=Ready", "--timeout=60s")
	s.run("lkeplan", "apply", "--yes", "testdata/instances")
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(8)
	s.until("8 pods run on two nodes", 2*time.Minute, func(s state) bool {
		return s.running == 8 && len(s.nodes) == 2 && s.joined()
	})
	s.eventually("no token is left", 30*time.Second, s.noTokens)
	said := s.ends(0, "doctor")
	mustContain(t, said, "ok    instance mode: Linodes join the cluster sandbox, in us-ord",
		"ok    way to the API server", "ok    bootstrap tokens: machines can request certificates",
		"the account lkeplan-system/lkeplan-controller has all",
		"ok    Linodes: the account has 2 with the tag lkeplan-cluster=sandbox")
	s.deleteDeployments("inflate")
	s.until("nothing is left", 2*time.Minute, state.empty)

	log := s.audited()
	for _, r := range log {
		if r.User.Username == accounts+controllerAccount && r.Annotations["authorization.k8s.io/decision"] == "forbid" {
			t.Errorf("refused: %v", r.rights())
		}
	}
	if text := c.log.String(); strings.Contains(text, "forbidden") {
		t.Errorf("something was forbidden:\n%s", tail(text, 40))
	}
	for _, right := range ofInstanceMode(t) {
		used := slices.ContainsFunc(log, func(r request) bool { return r.uses(right) })
		name := strings.Join([]string{right.Namespace, right.Verb, right.Resource, right.Name}, " ")
		if seldom := seldomInInstanceMode[name] != ""; !used && !seldom {
			t.Errorf("it is granted and was never needed: %s", name)
		}
	}
	s.writesTokensOnly()
}

// templated is a class whose machines read what a template says.
const templated = `
apiVersion: v1
kind: Secret
metadata: {name: user-data, namespace: lkeplan-system}
stringData: {userData: "#cloud-config\n"}
---
apiVersion: karpenter.k8s.linode/v1
kind: LinodeNodeClass
metadata: {name: templated}
spec: {image: linode/debian12, bootstrap: {kind: custom, userDataSecret: user-data}}
`

// writesTokensOnly tries what the account may not do with Secrets of kube-system, though RBAC
// lets it: it would have the token of another account made for it.
func (s *sandbox) writesTokensOnly() {
	s.t.Helper()
	const secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: NAME\n  namespace: kube-system\n"
	s.kube(strings.Replace(secret, "NAME", "theirs", 1), "apply", "-f", "-")
	as := s.account("lkeplan-system", controllerAccount)
	for what, try := range map[string]struct {
		text string
		args []string
	}{
		"the token of another account": {strings.Replace(secret, "NAME", "stolen", 1) +
			"  annotations: {kubernetes.io/service-account.name: default}\ntype: kubernetes.io/service-account-token\n",
			[]string{"create", "-f", "-"}},
		"a token of no NodeClaim": {strings.Replace(secret, "NAME", "bootstrap-token-abcdef", 1) +
			"type: bootstrap.kubernetes.io/token\n", []string{"create", "-f", "-"}},
		"a token that gets the certificate of any Node": {strings.Replace(secret, "NAME", "bootstrap-token-abcdef", 1) +
			"  labels: {lkeplan.dev/nodeclaim: a}\ntype: bootstrap.kubernetes.io/token\n" +
			"stringData: {auth-extra-groups: " +
			"\"system:bootstrappers:kubeadm:default-node-token\"}\n", []string{"create", "-f", "-"}},
		"a Secret of others is changed": {strings.Replace(secret, "NAME", "theirs", 1) +
			"  labels: {lkeplan.dev/nodeclaim: a}\n", []string{"replace", "-f", "-"}},
		"a Secret of others is deleted": {"", []string{"delete", "secret", "theirs", "-n", "kube-system"}},
	} {
		said, refused := s.tries(as, try.text, try.args...)
		if !refused || !strings.Contains(said, "only bootstrap tokens of NodeClaims") &&
			!strings.Contains(said, "only tokens of the group system:bootstrappers:lkeplan") {
			s.t.Errorf("%s: %s", what, said)
		}
	}
}

// ofInstanceMode are the rights that the part that makes nodes has in instance mode only.
func ofInstanceMode(t *testing.T) []authorizationv1.ResourceAttributes {
	t.Helper()
	lke, err := kube.NeededRights(false)
	if err != nil {
		t.Fatal(err)
	}
	own, err := kube.NeededRights(true)
	if err != nil {
		t.Fatal(err)
	}
	more := slices.DeleteFunc(own[controllerAccount], func(r authorizationv1.ResourceAttributes) bool {
		return slices.Contains(lke[controllerAccount], r)
	})
	if len(more) == 0 {
		t.Fatal("instance mode has no additional rights")
	}
	return more
}

// uses reports whether a request of the part that makes nodes needed a right.
func (r request) uses(right authorizationv1.ResourceAttributes) bool {
	of := r.ObjectRef
	return of != nil && r.User.Username == accounts+controllerAccount && r.Verb == right.Verb &&
		of.APIGroup == right.Group && of.Resource == right.Resource &&
		(of.Namespace == right.Namespace || of.Resource == "namespaces") && // which is in itself to the audit log
		(right.Name == "" || of.Name == right.Name)
}
