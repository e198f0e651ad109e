package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// seldom are rights that the scenario does not need, with what needs them.
var seldom = map[string]string{
	"lkeplan-controller: list namespaces":            "pods whose affinity selects namespaces",
	"lkeplan-controller: watch namespaces":           "the same",
	"lkeplan-controller: delete pods":                "a NodeClaim's termination grace period that ends before a pod's",
	"lkeplan-controller: patch events":               "an event that repeats",
	"lkeplan-gitops: report nodeplans.lkeplan.dev":   "what kube/deploy/approval.yaml asks for, which no audit log shows",
	"lkeplan-gitops: patch events":                   "an event that repeats",
	"lkeplan-controller: patch events.events.k8s.io": "an event that repeats",
	"lkeplan-controller: patch configmaps":           "a second start, for the note of the LKE cluster",
	"lkeplan-gitops: list deployments.apps":          "a CapacityBuffer for a workload",
	"lkeplan-gitops: watch deployments.apps":         "the same",
	"lkeplan-gitops: list replicasets.apps":          "the same",
	"lkeplan-gitops: watch replicasets.apps":         "the same",
	"lkeplan-gitops: list statefulsets.apps":         "the same",
	"lkeplan-gitops: watch statefulsets.apps":        "the same",
}

// TestRolesAreExact runs both processes with only the roles of kube/deploy/ and the
// policies for tenants and approvals, the one for NodePlans without a Linode token, through scaling up and down and a NodePlan with all its
// features. No call may be refused, and no right may be unused.
func TestRolesAreExact(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--audit", "--flux")
	s.installCRDs()
	s.kube("", "create", "namespace", "lkeplan-system")
	for _, name := range []string{"rbac", "features", "controller", "gitops", "tenant", "tenancy", "approval"} {
		s.kube("", "apply", "-f", "../../../kube/deploy/"+name+".yaml")
	}
	s.kube("", "delete", "deployment", "-n", "lkeplan-system", controllerAccount, gitopsAccount) // they are here instead
	elect := []string{"--leader-elect", "true", "--leader-election-namespace", "lkeplan-system"}
	s.startController(append(elect, "--kubeconfig", s.account("lkeplan-system", controllerAccount), "--only", "capacity",
		"--feature-gates", "NodeOverlay", "--maintenance-every", "3s")...)
	s.env["LINODE_TOKEN"] = ""
	c := s.startController(append(elect, "--kubeconfig", s.account("lkeplan-system", gitopsAccount), "--only", "gitops",
		"--cluster-name", "sandbox", "--default-service-account", applyAccount)...)
	s.walk()

	granted, used, refused := granted(t), map[string]bool{}, map[string]bool{}
	for _, r := range s.audited() {
		by := strings.TrimPrefix(r.User.Username, accounts)
		if r.ObjectRef == nil || by != controllerAccount && by != gitopsAccount {
			continue
		}
		for _, right := range r.rights() {
			used[right] = true
			if r.Annotations["authorization.k8s.io/decision"] == "forbid" {
				refused[right] = true
			}
		}
	}
	if log := c.log.String(); strings.Contains(log, "ValidatingAdmissionPolicy") {
		t.Errorf("the policies have refused something:\n%s", tail(log, 40))
	}
	for _, right := range slices.Sorted(maps.Keys(refused)) {
		t.Errorf("refused: %s", right)
	}
	for _, right := range slices.Sorted(maps.Keys(granted)) {
		if !used[right] && seldom[right] == "" {
			t.Errorf("%s grants what was never needed: %s", granted[right], right)
		}
	}
	for _, right := range slices.Sorted(maps.Keys(seldom)) {
		if granted[right] == "" {
			t.Errorf("%s is listed as seldom needed, and nothing grants it", right)
		}
	}
}

// walk starts and deletes pods on nodes of a NodePlan that creates, changes and
// deletes objects of all kinds.
func (s *sandbox) walk() {
	s.t.Helper()
	in := []string{"-n", "lkeplan-fleet"}
	all := file(s.t.(*testing.T), "roles/main.lke.hcl")
	s.kube(configMap("lkeplan-fleet", "fleet", all), "apply", "--server-side", "-f", "-")
	s.kube(spare, "apply", "-f", "-")
	s.kube(versionedClass, "apply", "-f", "-") // which an event says
	s.kube("", append(in, "create", "secret", "generic", "values", "--from-literal=token=hunter2")...)
	s.kube(strings.NewReplacer("NAME", "fleet", "namespace: default",
		"namespace: lkeplan-fleet").Replace(nodePlanOfConfigMap)+
		"  rollout: {stable: 3s, timeout: 90s}\n  deletionPolicy: Delete\n  variablesFrom: [{kind: Secret, name: values}]\n", "apply", "-f", "-")
	s.kube("", append(in, "wait", "nodeplan/fleet", "--for=condition=Ready", "--timeout=40s")...)
	s.applyAll(workload("general", 2))
	now := s.until("two pods run", time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	s.maintained(now)

	// A change that rolls, and an object that is pruned.
	changed := strings.Replace(all, "= {}\n", "= { tier = \"web\" }\n", 1)
	changed, _, _ = strings.Cut(changed, "# pruned")
	s.kube(configMap("lkeplan-fleet", "fleet", changed), "apply", "--server-side", "-f", "-")
	s.until("the nodes are replaced", 2*time.Minute, func(now state) bool {
		for _, n := range now.nodes {
			if n.Labels["tier"] != "web" {
				return false
			}
		}
		return now.running == 2 && now.matched() && len(s.pools()) == 1
	})
	s.deleteDeployments("general")
	s.kube("", append(in, "delete", "nodeplan", "fleet", "--wait=false")...) // a buffer keeps a node
	s.kube("", append(in, "wait", "nodeplan/fleet",
		`--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=ApprovalPending`, "--timeout=40s")...)
	s.ends(0, append([]string{"nodeplan", "approve", "fleet", "--yes"}, in...)...)
	s.kube("", append(in, "wait", "nodeplan/fleet", "--for=delete", "--timeout=40s")...)
	s.until("nothing is left", time.Minute, func(now state) bool { return now.empty() && len(s.pools()) == 0 })
}

// spare is the pod that a buffer keeps room for.
const spare = `
apiVersion: v1
kind: PodTemplate
metadata: {name: spare, namespace: default}
template:
  spec:
    nodeSelector: {karpenter.sh/nodepool: general}
    containers: [{name: c, image: pause, resources: {requests: {cpu: 3}}}]
`

// configMap is a source of HCL.
func configMap(namespace, name, text string) string {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": namespace},
		"data": map[string]string{"main.lke.hcl": text},
	})
	if err != nil {
		panic(err) // it is text, and text can be written
	}
	return string(raw)
}

// request is a request in the API server's audit log.
type request struct {
	Verb             string
	User             struct{ Username string }
	ImpersonatedUser *struct{ Username string }
	ObjectRef        *struct{ Resource, Subresource, APIGroup, Namespace, Name string }
	ResponseStatus   struct{ Code int }
	Annotations      map[string]string
}

// The accounts of kube/deploy/.
const (
	accounts          = "system:serviceaccount:lkeplan-system:"
	controllerAccount = "lkeplan-controller"
	gitopsAccount     = "lkeplan-gitops"
	applyAccount      = "lkeplan"
)

// rights are what the request needs.
func (r request) rights() []string {
	resource := strings.TrimSuffix(r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/")
	account, verbs := strings.TrimPrefix(r.User.Username, accounts), []string{r.Verb}
	var rights []string
	if r.ImpersonatedUser != nil {
		rights = append(rights, right(account, "impersonate", "", "serviceaccounts"))
		account = r.ImpersonatedUser.Username[strings.LastIndexByte(r.ImpersonatedUser.Username, ':')+1:]
	}
	switch {
	case r.Verb == "patch" && r.ResponseStatus.Code == http.StatusCreated:
		verbs = append(verbs, "create")
	case r.Verb == "watch":
		// Where the API server cannot stream the initial list, client-go lists.
		verbs = append(verbs, "list")
	}
	for _, verb := range verbs {
		rights = append(rights, right(account, verb, r.ObjectRef.APIGroup, resource))
	}
	return rights
}

// right names one: an account, a verb, and a resource with its group.
func right(account, verb, group, resource string) string {
	if group != "" {
		resource += "." + group
	}
	return account + ": " + verb + " " + resource
}

// granted are the rights that kube/deploy/ binds, each with the role that has it.
func granted(t *testing.T) map[string]string {
	t.Helper()
	rights := map[string]string{}
	for _, name := range []string{"rbac", "features", "controller", "gitops"} {
		raw, err := os.ReadFile("../../../kube/deploy/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range strings.Split(string(raw), "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
				t.Fatal(err)
			}
			if role.Name == "lkeplan-diff" || role.Name == "lkeplan-approve" || role.Name == "lkeplan-on-call" {
				continue // for others: TestPredictionMatchesKarpenter, TestOnlyApproversCanApprove
			}
			account := controllerAccount
			switch role.Name {
			case "lkeplan-apply":
				account = applyAccount
			case "lkeplan-nodeplans", "lkeplan-node-events", "lkeplan-impersonate", "lkeplan-secrets", gitopsAccount:
				account = gitopsAccount
			}
			for _, rule := range role.Rules {
				for _, right := range expand(account, rule) {
					rights[right] = role.Kind + " " + role.Name
				}
			}
		}
	}
	return rights
}

// expand lists what one rule grants.
func expand(account string, rule rbacv1.PolicyRule) (rights []string) {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				rights = append(rights, right(account, verb, group, resource))
			}
		}
	}
	return rights
}
