package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// begun is the beginning of a disruption: Karpenter decides to remove a node, or a node begins to drain.
type begun struct {
	at    time.Time
	what  string
	pool  string
	claim string
}

// beginnings are all disruptions that have begun.
type beginnings struct {
	mu  sync.Mutex
	all []begun
}

func (b *beginnings) add(what string, nc *karpv1.NodeClaim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, begun{time.Now(), what, nc.Labels[karpv1.NodePoolLabelKey], nc.Name})
}

// between returns the disruptions of a pool that have begun in a time; "" for all pools.
func (b *beginnings) between(from, to time.Time, pool string) (some []begun) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.all {
		if one.at.After(from) && one.at.Before(to) && (pool == "" || one.pool == pool) {
			some = append(some, one)
		}
	}
	return some
}

// watchBeginnings follows the NodeClaims. A node that is decided about and drains later begins twice.
func (s cluster) watchBeginnings() *beginnings {
	s.t.Helper()
	b := &beginnings{}
	decided, draining := map[string]bool{}, map[string]bool{}
	s.follow(&karpv1.NodeClaimList{}, func(o client.Object, deleted bool) {
		nc := o.(*karpv1.NodeClaim)
		if is := nc.StatusConditions().Get(karpv1.ConditionTypeDisruptionReason).IsTrue(); is != decided[nc.Name] {
			if decided[nc.Name] = is; is {
				b.add("decided", nc)
			}
		}
		if !nc.DeletionTimestamp.IsZero() && !draining[nc.Name] {
			draining[nc.Name] = true
			b.add("drains", nc)
		}
	})
	return b
}

// stoppedFleet has a pool that each revision rolls, one that is consolidated, one whose hosts are maintained, and one that
// grows.
func stoppedFleet(revision int) string {
	text := "cluster {\n  name   = \"sandbox\"\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {\n  replace_before_maintenance = \"24h\"\n}\n"
	for _, pool := range []struct{ name, after, more string }{
		{"rolls", "Never", fmt.Sprintf("  labels = { revision = \"r%d\" }\n", revision)},
		{"thins", "0s", ""}, {"hosts", "Never", ""}, {"grows", "Never", ""},
	} {
		text += fmt.Sprintf("\npool %q {\n  node_class   = node_class.default\n  requirements = { class = \"standard\", cpu = 4 }\n%s"+
			"  disruption {\n    consolidate_after = %q # lkeplan:ignore consolidate-before-hour tests do not wait\n    budget {\n      nodes = 1\n    }\n  }\n}\n",
			pool.name, pool.more, pool.after)
	}
	return text
}

// stopTimes is how often TestNothingBeginsWhileDisruptionIsStopped stops disruption; LKEPLAN_STOPS overrides it.
func stopTimes(t *testing.T) int {
	if text := os.Getenv("LKEPLAN_STOPS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return nightly.Or(2, 20)
}

// TestNothingBeginsWhileDisruptionIsStopped: nodes of one pool roll after a commit, those of another are consolidated, and
// those of a third have maintenance. In the middle of that, disruption is stopped, again and again. From two seconds later,
// nothing begins until the end of the stop: not if the controller is killed and another one leads, and not because of another
// commit. Capacity for pending pods is created. After the end, disruption continues.
func TestNothingBeginsWhileDisruptionIsStopped(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	args := []string{"--maintenance-every", "3s", "--max-replacements", "0"} // the nodes of the pools are replaced again and again
	running := s.startController(args...)
	revision := 0
	s.source("fleet", stoppedFleet(revision))
	s.kube(strings.ReplaceAll(nodePlanOfConfigMap, "NAME", "fleet"), "apply", "-f", "-")
	s.untilPlan("fleet", "it is ready", because(lkeplanv1alpha1.ReasonSucceeded))
	s.applyAll(workload("rolls", 4))
	s.applyAll(strings.Replace(workload("thins", 8), `"cpu":"3"`, `"cpu":"1500m"`, 1))
	s.applyAll(workload("hosts", 4))
	s.applyAll(workload("grows", 0))
	s.until("each pod has its node", 4*time.Minute, func(now state) bool { return now.running == 16 && now.matched() })
	all := s.watchBeginnings()

	const lasts = 45 * time.Second  // longer than a controller and a node need to start on a busy machine
	var last, resumed time.Duration // of the last beginning after a stop, and of the first after its end
	during, kills, commits := 0, 0, 0
	for i := range stopTimes(t) {
		began := time.Now()
		revision++
		s.source("fleet", stoppedFleet(revision))
		for _, nc := range s.state().claims {
			if nc.Labels[karpv1.NodePoolLabelKey] == "hosts" && maintenance.Of(&nc) == nil && nodeclaim.InstanceOf(nc.Status.ProviderID) > 0 {
				s.announce(nodeclaim.InstanceOf(nc.Status.ProviderID), "power_off_on", time.Now().Add(20*time.Hour), false)
			}
		}
		s.scaleTo("thins", 8-4*((i+1)%2))
		pool := []string{"rolls", "hosts", "thins"}[i%3]
		if i%2 == 1 { // the pool thins grows again
			pool = []string{"rolls", "hosts"}[i/2%2]
		}
		s.until("a disruption of pool "+pool+" begins", 3*time.Minute, func(state) bool {
			return len(all.between(began, time.Now(), pool)) > 0
		})

		s.ends(0, "stop", "--for", lasts.String(), "--reason", fmt.Sprintf("test %d", i))
		stopped := time.Now()
		end := s.lastStop().Until()
		if end.Sub(stopped) < lasts/2 {
			t.Fatalf("the machine is too slow: %s of the stop are left", end.Sub(stopped))
		}
		if i%2 == 0 {
			running.kill()
			running = s.startController(args...)
			kills++
		} else {
			applied := ""
			s.untilPlan("fleet", "there is an applied commit", func(np *lkeplanv1alpha1.NodePlan) bool {
				applied = np.Status.LastAppliedRevision
				return true
			})
			revision++
			s.source("fleet", stoppedFleet(revision))
			commits++
			s.untilPlan("fleet", "the commit waits, or was still applied", func(np *lkeplanv1alpha1.NodePlan) bool {
				return strings.Contains(conditions.GetMessage(np, meta.ReadyCondition), "Disruption is stopped until") ||
					np.Status.LastAppliedRevision != applied
			})
		}
		s.scaleTo("grows", i+1)
		s.until("the pending pod gets a node while disruption is stopped", lasts, func(state) bool {
			if time.Now().After(end) {
				t.Fatalf("stop %d: there is no node for a pending pod at the end of the stop", i)
			}
			return s.phases("grows")[corev1.PodRunning] == i+1
		})
		s.until("the stop ends, and disruption continues", lasts+2*time.Minute, func(state) bool {
			return len(all.between(end, time.Now(), "")) > 0
		})
		for _, b := range all.between(stopped, end, "") {
			last = max(last, b.at.Sub(stopped))
			if b.at.Sub(stopped) > 2*time.Second {
				t.Errorf("stop %d: %s of pool %s %s %s after the stop, %s before its end", i, b.claim, b.pool, b.what, b.at.Sub(stopped), end.Sub(b.at))
			}
			during++
		}
		resumed = max(resumed, all.between(end, time.Now(), "")[0].at.Sub(end))
	}
	if !s.told("DisruptionStop", "DisruptionStopped", "disruption is stopped until") {
		t.Error("no event reports a stop")
	}
	t.Logf("%d stops, %d kills, %d commits while stopped, %d disruptions: %d began after a stop, the last %s after it; "+
		"the longest time from an end to the next disruption is %s", stopTimes(t), kills, commits, len(all.between(time.Time{}, time.Now(), "")),
		during, last.Round(time.Millisecond), resumed.Round(time.Millisecond))
}

// lastStop returns the stop that was created last.
func (s *sandbox) lastStop() *lkeplanv1alpha1.DisruptionStop {
	s.t.Helper()
	var list lkeplanv1alpha1.DisruptionStopList
	if err := s.client.List(s.t.Context(), &list); err != nil || len(list.Items) == 0 {
		s.t.Fatalf("there is no stop: %v", err)
	}
	last := slices.MaxFunc(list.Items, func(a, b lkeplanv1alpha1.DisruptionStop) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return &last
}

// TestHeldDrainKeepsItsPods: a node that a user deletes drains, but keeps its pod while drains are held. status, why and apply
// say that disruption is stopped. When the stop is ended, the pod moves, and apply replaces the node.
func TestHeldDrainKeepsItsPods(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	c := s.startController()
	s.run("lkeplan", "apply", "--yes", "testdata/four")
	s.applyAll(workload("four", 2))
	before := s.until("two pods run", 2*time.Minute, func(now state) bool { return now.running == 2 && now.matched() })
	mustContain(t, s.ends(0, "stop", "--for", "1h", "--reason", "bad image", "--drains", "hold"),
		"Disruption is stopped until", "keep their pods until then", "lkeplan resume stop-")
	going, stays := before.nodes[0].Name, before.nodes[1].Name
	s.kube("", "delete", "node", going, "--wait=false")
	s.until("the node drains, and an event says that it is held", time.Minute, func(now state) bool {
		return now.deleting() && s.hasEvent("Node", going, "FailedDraining", "drains are stopped until")
	})
	s.never("the pod is evicted", func(now state) bool { return now.running < 2 || len(now.nodes) < 2 }, c.disruption())

	mustContain(t, s.ends(0, "status"), "Warning: disruption is stopped until", "bad image")
	mustContain(t, s.ends(0, "why", "node", going), "its pods are not evicted: drains are stopped until")
	mustContain(t, s.ends(0, "why", "node", stays), "disruption is stopped until")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/four")); err != nil {
		t.Fatal(err)
	}
	rewrite(t, dir, "requirements = {", "labels = { revision = \"two\" }\n  requirements = {")
	mustContain(t, s.ends(3, "apply", "--yes", "--wait", "none", dir), "Disruption is stopped until", "lkeplan resume")

	s.ends(0, "stop", "--for", "1h", "--reason", "another one")
	mustContain(t, s.ends(1, "resume"), "there are several stops")
	mustContain(t, s.ends(0, "resume", "--yes"), "bad image", "another one", "Disruption is allowed again")
	s.until("the node is gone, and its pod runs", 2*time.Minute, func(now state) bool {
		return now.running == 2 && !slices.ContainsFunc(now.nodes, func(n corev1.Node) bool { return n.Name == going })
	})
	s.ends(0, "apply", "--yes", "--wait", "rolled", dir)
	mustContain(t, s.ends(0, "resume"), "Disruption is not stopped.")
}

// TestOnlyPeopleOnCallStopDisruption: an account with the role for people on call can stop and resume disruption, and change
// nothing else. A tenant cannot. The API server refuses stops that are too long, have no end or no reason, and changes.
func TestOnlyPeopleOnCallStopDisruption(t *testing.T) {
	t.Parallel()
	s := startSandbox(t)
	s.installCRDs()
	for _, name := range []string{"rbac", "tenant"} {
		s.kube("", "apply", "-f", "../../../kube/deploy/"+name+".yaml")
	}
	s.kube("", "create", "serviceaccount", "ann")
	s.kube("", "create", "clusterrolebinding", "ann", "--clusterrole=lkeplan-on-call", "--serviceaccount=default:ann")
	s.kube("", "create", "clusterrolebinding", "tenants-edit", "--clusterrole=edit", "--serviceaccount=lkeplan-fleet:lkeplan")
	onCall, tenant := s.account("default", "ann"), s.account("lkeplan-fleet", "lkeplan")
	s.applyAll(poolToEdit)

	said, code := s.lkeplan(onCall, "stop", "--for", "2h", "--reason", "errors", "-o", "json")
	if code != 0 || !strings.Contains(said, `"by": "system:serviceaccount:default:ann"`) {
		t.Errorf("a person on call cannot stop disruption: %d: %s", code, said)
	}
	if said, code := s.lkeplan(tenant, "stop", "--for", "2h", "--reason", "errors"); code != 1 || !strings.Contains(said, "forbidden") {
		t.Errorf("a tenant stops disruption: %d: %s", code, said)
	}
	if said, code := s.lkeplan(tenant, "resume", "--yes"); code != 1 || !strings.Contains(said, "forbidden") {
		t.Errorf("a tenant ends a stop: %d: %s", code, said)
	}
	for _, verb := range [][]string{
		{"patch", "nodepool", "edited", "--type=merge", "-p", `{"spec":{"weight":7}}`},
		{"delete", "nodepool", "edited"}, {"delete", "nodeclaims", "--all"}, {"get", "nodeplans", "-A"},
		{"auth", "can-i", "create", "nodeplans"}, {"auth", "can-i", "patch", "nodeplans/status"}, {"auth", "can-i", "create", "linodenodeclasses"}, {"patch", "disruptionstops", s.lastStop().Name, "--type=merge", "-p", `{"spec":{"reason":"x"}}`},
	} {
		out, err := s.command(s.kubectl, map[string]string{"KUBECONFIG": onCall}, verb...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "orbidden") && !strings.HasSuffix(strings.TrimSpace(string(out)), "no") {
			t.Errorf("a person on call can: kubectl %s: %s", strings.Join(verb, " "), out)
		}
	}
	for spec, want := range map[string]string{
		`{"for":"169h","reason":"x"}`:               "at most 168h",
		`{"for":"999999h","reason":"x"}`:            "at most 168h",
		`{"for":"0s","reason":"x"}`:                 "more than 0",
		`{"for":"-2h","reason":"x"}`:                "should match",
		`{"for":null,"reason":"x"}`:                 "spec.for",
		`{"reason":"x"}`:                            "spec.for",
		`{"for":"2h","reason":""}`:                  "spec.reason",
		`{"for":"2h","reason":null}`:                "spec.reason",
		`{"for":"2h"}`:                              "spec.reason",
		`{"for":"2h","reason":"x","drains":"Kill"}`: "spec.drains",
		`{"for":"2h","reason":"x","until":"2099"}`:  "unknown field",
		`null`:                                 "spec",
		`{"for":"2h","reason":"x","by":["a"]}`: "spec.by",
		`{"for":"9999999999h","reason":"x","by":null}`: "should match",
	} {
		cmd := s.command(s.kubectl, nil, "create", "--validate=strict", "-f", "-")
		cmd.Stdin = strings.NewReader(`{"apiVersion":"lkeplan.dev/v1alpha1","kind":"DisruptionStop","metadata":{"generateName":"stop-"},"spec":` + spec + `}`)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, want %q:\n%s", spec, err, want, out)
		}
	}
	if out, err := s.command(s.kubectl, nil, "patch", "disruptionstops", s.lastStop().Name, "--type=merge", "-p", `{"spec":{"for":"100h"}}`).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "cannot be changed") {
		t.Errorf("a stop can be changed: %s", out)
	}
	if said, code := s.lkeplan(onCall, "resume", s.lastStop().Name); code != 0 {
		t.Errorf("a person on call cannot resume disruption: %d: %s", code, said)
	}
}

const poolToEdit = `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"edited"},"spec":{"template":{"spec":{
	"nodeClassRef":{"group":"karpenter.k8s.linode","kind":"LinodeNodeClass","name":"default"},
	"requirements":[{"key":"kubernetes.io/arch","operator":"In","values":["amd64"]}]}}}}`
