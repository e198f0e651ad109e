package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// TestABurstInInstanceMode: in instance mode 100 pods of 1 CPU have 25 Linodes made, within
// the rate of new Linodes, and all are gone when the pods are. No token outlives its claim.
func TestABurstInInstanceMode(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance")
	s.installCRDs()
	s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/instances")
	s.resetStats()
	tooEarly := s.watchBindings()
	s.applyAll(file(t, "inflate.yaml"))
	s.scale(100)
	most := 0
	up := s.until("100 pods run", 2*time.Minute, func(s state) bool {
		most = max(most, len(s.claims))
		return s.running == 100 && s.joined()
	})
	if up.linode.Made != 25 || most != 25 {
		t.Errorf("%d Linodes were made and there were up to %d NodeClaims, want 25 of each", up.linode.Made, most)
	}
	if bound, early := tooEarly(); len(early) > 0 || bound < 100 {
		t.Errorf("of %d pods these were bound before their node was ready for them: %v", bound, early)
	}
	s.eventually("no token is left", 30*time.Second, s.noTokens)
	s.deleteDeployments("inflate")
	down := s.until("nothing is left", 2*time.Minute, state.empty)
	if down.linode.Made != 25 || down.linode.Deleted != 25 {
		t.Errorf("%d Linodes were made and %d deleted, want 25 of each", down.linode.Made, down.linode.Deleted)
	}
	t.Logf("%d Linode calls until all pods ran, %d more until nothing was left", up.linode.Calls,
		down.linode.Calls-up.linode.Calls)
}

// watchBindings follows Nodes and pods from now on. What it returns says how many pods that
// tolerate nothing were bound, and which of them while their Node had a taint of its pool, of
// Karpenter's or of the cloud controller's, or was not registered: by the versions of both, which
// the API server counts together.
func (s *sandbox) watchBindings() func() (bound int, early []string) {
	s.t.Helper()
	type version struct {
		at    int
		ready bool
	}
	number := func(o client.Object) int {
		n, err := strconv.Atoi(o.GetResourceVersion())
		if err != nil {
			s.t.Error(err)
		}
		return n
	}
	var mu sync.Mutex
	nodes, pods := map[string][]version{}, map[string]*corev1.Pod{}
	s.follow(&corev1.NodeList{}, func(o client.Object, deleted bool) {
		mu.Lock()
		defer mu.Unlock()
		if deleted {
			return
		}
		node := o.(*corev1.Node)
		ready := node.Labels[karpv1.NodeRegisteredLabelKey] == "true"
		for _, taint := range node.Spec.Taints {
			ready = ready && strings.HasPrefix(taint.Key, "node.kubernetes.io/") // pods tolerate those of health for a while
		}
		nodes[node.Name] = append(nodes[node.Name], version{number(node), ready})
	})
	s.follow(&corev1.PodList{}, func(o client.Object, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		pod := o.(*corev1.Pod)
		if _, known := pods[pod.Name]; !known && pod.Spec.NodeName != "" && pod.Namespace == "default" {
			pods[pod.Name] = pod
		}
	})
	return func() (bound int, early []string) {
		mu.Lock()
		defer mu.Unlock()
		for name, pod := range pods {
			ready := false
			for _, v := range nodes[pod.Spec.NodeName] {
				if v.at < number(pod) {
					ready = v.ready // as the last version before says
				}
			}
			if !ready {
				early = append(early, name+" on "+pod.Spec.NodeName)
			}
		}
		return len(pods), early
	}
}

// joined reports whether each NodeClaim has its Linode and its ready node.
func (s state) joined() bool {
	s.linode.Slots = s.linode.Live // there is none
	return s.matched()
}

// TestLinodesAreCreatedAndDeletedOnce: the process is killed during calls that hang, once
// before Linode has done anything and once after it has done everything; calls are lost, and
// done late. Each time there are as many Linodes as nodes in the end. A Linode that a user deletes is
// replaced; tags change in place; another image replaces the nodes, while their pods run elsewhere. A Linode
// of another owner stays.
func TestLinodesAreCreatedAndDeletedOnce(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, "--mode", "instance")
	s.installCRDs()
	c := s.startController(expectsLate...)
	s.run("lkeplan", "apply", "--yes", "testdata/instances")
	s.applyAll(file(t, "inflate.yaml"))
	s.linodeCall(http.MethodPost, "/v4/linode/instances", map[string]any{
		"region": "us-ord", "type": "g6-standard-1", "label": "sandbox-0123456789abcdef0123", "tags": []string{"lkeplan-cluster=sandbox"},
	}, nil)
	const all = 1 // of another owner

	whole := func(what string, pods int) state {
		return s.until(fmt.Sprintf("after %s %d pods run", what, pods), 3*time.Minute, func(now state) bool {
			now.linode.Live -= all
			return now.running == pods && now.pending == 0 && now.joined() && len(now.nodes) == pods/4
		})
	}
	for _, afterWork := range []bool{false, true} {
		for _, step := range []struct {
			method, path string
			pods         int
		}{
			{http.MethodPost, "/linode/instances", 8}, {http.MethodDelete, "/linode/instances/*", 4},
		} {
			what := fmt.Sprintf("a kill during a %s (done: %v)", step.method, afterWork)
			hung := s.hung()
			s.inject(fmt.Sprintf(`{"method":%q,"path":%q,"count":1,"hang":true,"after_work":%v}`, step.method, step.path, afterWork))
			s.scale(step.pods)
			s.until(step.method+" hangs", 2*time.Minute, func(state) bool { return s.hung() > hung })
			c.kill()
			s.clearFaults()
			c = s.startController(expectsLate...)
			whole(what, step.pods)
		}
	}

	s.late(http.MethodPost, "/linode/instances")
	s.scale(8)
	whole("a late POST", 8)
	s.inject(`{"method":"POST","path":"/linode/instances","count":1,"lost":true}`)
	s.scale(12)
	whole("a POST whose answer is lost", 12)
	s.late(http.MethodDelete, "/linode/instances/*")
	s.scale(8)
	whole("a late DELETE", 8)
	s.inject(`{"method":"DELETE","path":"/linode/instances/*","count":1,"lost":true}`)
	s.scale(4)
	before := whole("a DELETE whose answer is lost", 4)

	s.linodeCall(http.MethodDelete, "/v4/linode/instances/"+strings.TrimPrefix(before.claims[0].Status.ProviderID, "linode://"), nil, nil)
	s.until("the claim of a Linode that was deleted by hand is replaced", 3*time.Minute, func(now state) bool {
		return len(now.claims) == 1 && now.claims[0].Name != before.claims[0].Name && now.running == 4 && now.pending == 0
	})
	before = whole("the loss of a Linode", 4)

	s.merge("linodenodeclass", "default", `{"spec":{"tags":["team=other"]}}`)
	s.eventually("the Linode has its new tags", 90*time.Second, func() error {
		tags := s.linodeOf(before.claims[0]).Tags
		if !slices.Contains(tags, "team=other") || slices.Contains(tags, "team=web") || len(tags) != 3 {
			return fmt.Errorf("its tags are %v", tags)
		}
		return nil
	})
	if after := whole("a change of tags", 4); after.claims[0].Name != before.claims[0].Name {
		t.Error("new tags have replaced a node")
	}
	s.merge("linodenodeclass", "default", `{"spec":{"image":"linode/debian12"}}`)
	s.until("another image has replaced the node", 5*time.Minute, func(now state) bool {
		return now.running == 4 && now.pending == 0 && len(now.claims) == 1 && now.claims[0].Name != before.claims[0].Name &&
			nodeclaim.InstanceOf(now.claims[0].Status.ProviderID) != 0 && s.linodeOf(now.claims[0]).Image == "linode/debian12"
	})
	s.deleteDeployments("inflate")
	s.until("only Linodes of other owners are left", 3*time.Minute, func(now state) bool {
		return len(now.nodes)+len(now.claims) == 0 && now.linode.Live == all
	})
	s.eventually("no token is left", time.Minute, s.noTokens)
}
