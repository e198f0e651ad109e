package gitops

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/engine/rings"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// fleet is several clusters that follow one repository. Each can read the NodePlans of the others,
// unless they are down.
type fleet struct {
	t        *testing.T
	now      time.Time
	commits  []map[string]string // of the repository
	clusters map[string]*member
	read     []string // the clusters that were read last
}

type member struct {
	*world
	np      *lkeplanv1alpha1.NodePlan
	skew    time.Duration // of its clock
	down    bool          // it cannot be read
	ill     bool          // its objects are not ready
	applied []int         // the commits that it has applied, in order
	good    map[string]time.Duration
	again   time.Duration // when the NodePlan is checked again for the next ring; 0: as usual
}

const order = `rings {
  ring "dev" {
    clusters = ["dev"]
    soak     = "10m"
  }
  ring "early" {
    clusters = ["eu-1", "us-1"]
  }
  ring "rest" {
    clusters = ["eu-2"]
  }
}
`

func newFleet(t *testing.T) *fleet {
	f := &fleet{t: t, now: time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC), clusters: map[string]*member{}}
	for _, name := range []string{"dev", "eu-1", "us-1", "eu-2"} {
		m := &member{world: newWorld(t), good: map[string]time.Duration{}}
		m.worker.Cluster, m.worker.Peers = name, f
		m.worker.Now = func() time.Time { return f.now.Add(m.skew) }
		m.np = m.plan("fleet", "prod", "fleet")
		m.np.Spec.Path = name
		f.clusters[name] = m
	}
	f.push("0", order)
	for _, name := range []string{"dev", "eu-1", "us-1", "eu-2"} { // the first revision is judged by its own rings
		f.until(name, 0)
	}
	return f
}

// push commits a revision: the labels of the pools, and the rings.
func (f *fleet) push(label, rings string) {
	files := map[string]string{}
	for name := range f.clusters {
		files[name+"/main.lke.hcl"] = "cluster {\n  name   = \"" + name + "\"\n  region = \"us-ord\"\n}\n" + rings +
			"node_class \"c\" {}\npool \"web\" {\n  node_class = node_class.c\n  labels = { l = \"" + label + "\" }\n}\n"
	}
	f.commits = append(f.commits, files)
	for _, m := range f.clusters {
		m.commits = f.commits
	}
}

// Read implements Peers.
func (f *fleet) Read(_ context.Context, _ *lkeplanv1alpha1.NodePlan, clusters []string) map[string]rings.Peer {
	peers := map[string]rings.Peer{}
	f.read = clusters
	for _, name := range clusters {
		switch m := f.clusters[name]; {
		case m == nil:
			peers[name] = rings.Peer{Unknown: "there is no key"}
		case m.down:
			peers[name] = rings.Peer{Unknown: "it is not reachable: timeout"}
		default:
			peers[name] = rings.Peer{NodePlan: m.np.DeepCopy()}
		}
	}
	return peers
}

// reconcile has the NodePlan of a cluster reconciled.
func (f *fleet) reconcile(name string) outcome {
	f.t.Helper()
	m := f.clusters[name]
	if m.np.Spec.Suspend {
		return outcome{}
	}
	before := m.np.Status.LastAppliedRevision
	o := m.worker.Work(f.t.Context(), m.np, m.record(m.np))
	if m.ill && o.observed != nil {
		observed := o.observed
		o = failed(lkeplanv1alpha1.ReasonHealthCheckFailed, "pool web is not ready")
		o.observed = observed
	}
	setConditions(m.np, o)
	addHistory(m.np, o, m.worker.Now())
	m.again = m.worker.recordProof(m.np, o)
	if m.np.Status.LastAppliedRevision != before {
		m.applied = append(m.applied, len(m.commits)-1)
	}
	return o
}

// until has a cluster and those before it reconciled until it has applied a commit.
func (f *fleet) until(name string, commit int) {
	f.t.Helper()
	for range 60 {
		f.now = f.now.Add(time.Minute)
		for _, other := range []string{"dev", "eu-1", "us-1", "eu-2"} {
			o := f.reconcile(other)
			if other == name && f.at(name) == commit {
				return
			}
			if o.failed || o.stalled {
				f.t.Logf("%s: %s", other, o.message)
			}
		}
	}
	f.t.Fatalf("%s is at %d and does not reach %d: %s", name, f.at(name), commit, messageOf(f.clusters[name].np))
}

func messageOf(np *lkeplanv1alpha1.NodePlan) string {
	for _, c := range np.Status.Conditions {
		if c.Type == "Ready" {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// at is the commit that a cluster has applied; -1 for none.
func (f *fleet) at(name string) int {
	applied := f.clusters[name].applied
	if len(applied) == 0 {
		return -1
	}
	return applied[len(applied)-1]
}

// blocked reconciles a cluster twice, and checks that it waits for a reason.
func (f *fleet) blocked(name string, commit int, want string) outcome {
	f.t.Helper()
	var o outcome
	for range 2 {
		o = f.reconcile(name)
		if o.reason != lkeplanv1alpha1.ReasonWaitingForRing || !strings.Contains(o.message, want) || f.at(name) != commit {
			f.t.Fatalf("%s is at %d: %s: %s, want it to wait with %q", name, f.at(name), o.reason, o.message, want)
		}
		if !o.inProgress || o.failed || o.stalled || o.requeueAfter != retryInterval {
			f.t.Fatalf("it waits as %+v", o)
		}
	}
	return o
}

func TestRevisionReachesOneRingAfterTheOther(t *testing.T) {
	f := newFleet(t)
	f.push("1", order)
	f.blocked("eu-1", 0, "It waits for ring dev; cluster dev: the cluster has applied 0, and not this revision.")
	f.blocked("eu-2", 0, "It waits for ring early; cluster eu-1: the cluster waits for ring dev; cluster us-1: the cluster has applied 0")
	f.reconcile("dev")
	f.blocked("eu-1", 0, "dev: ready for 0s of 10m")
	f.now = f.now.Add(5 * time.Minute)
	f.reconcile("dev") // it was not checked for most of the time
	f.blocked("us-1", 0, "dev: ready for 2m of 10m")
	f.until("eu-1", 1)
	f.blocked("eu-2", 0, "us-1: the cluster waits for ring dev")
	f.until("eu-2", 1)
}

// TestAClusterIsCheckedWhenItsSoakTimeEnds: the next ring waits no longer than necessary.
func TestAClusterIsCheckedWhenItsSoakTimeEnds(t *testing.T) {
	f := newFleet(t)
	f.push("1", strings.Replace(order, "10m", "80s", 1))
	for _, want := range []time.Duration{time.Minute, 20 * time.Second, 0} {
		f.reconcile("dev")
		if got := f.clusters["dev"].again; got != want {
			t.Errorf("it is checked again after %s, want %s", got, want)
		}
		f.now = f.now.Add(want)
	}
	f.clusters["dev"].ill = true
	f.reconcile("dev")
	if got := f.clusters["dev"].again; got != retryInterval {
		t.Errorf("while it is not ready, it is checked again after %s", got)
	}
}

func TestRingsOfTheBaseApply(t *testing.T) {
	f := newFleet(t)
	f.push("1", "") // a commit that leaves its rings
	f.blocked("eu-1", 0, "It waits for ring dev")
	f.until("eu-2", 1)
	f.push("2", "")
	f.reconcile("eu-2")
	if f.at("eu-2") != 2 {
		t.Errorf("without rings it waits: %s", messageOf(f.clusters["eu-2"].np))
	}

	f = newFleet(t)
	f.push("1", strings.ReplaceAll(order, `"eu-1", "us-1"`, `"eu-1"`)) // us-1 is in no ring, and does not compile
	f.blocked("eu-2", 0, "us-1: the cluster has applied 0")
	f.until("eu-1", 1)
	if o := f.reconcile("us-1"); o.reason != lkeplanv1alpha1.ReasonCompileFailed {
		t.Errorf("us-1 leaves the rings: %s: %s", o.reason, o.message)
	}
	f.blocked("eu-2", 0, "us-1: CompileFailed")
}

func TestARingDeclaredForOneDirectoryOnlyBlocks(t *testing.T) {
	f := newFleet(t)
	f.push("1", order)
	f.commits[1]["dev/main.lke.hcl"] = strings.Replace(f.commits[1]["dev/main.lke.hcl"], "10m", "1s", 1)
	for range 15 {
		f.now = f.now.Add(time.Minute)
		f.reconcile("dev")
	}
	f.blocked("eu-1", 0, "dev: the directory of the cluster declares other rings in this revision")
}

func TestAFailingRingBlocksTheNext(t *testing.T) {
	f := newFleet(t)
	f.push("1", order)
	f.until("eu-1", 1)
	f.clusters["us-1"].ill = true
	f.reconcile("us-1")
	o := f.blocked("eu-2", 0, "us-1: HealthCheckFailed: pool web is not ready")
	if o.emitEvent {
		t.Error("it reports the same reason again")
	}
	f.clusters["us-1"].down = true
	if o := f.reconcile("eu-2"); !o.emitEvent || !strings.Contains(o.message, "us-1: it is not reachable: timeout") {
		t.Errorf("it does not report the other reason: %+v", o)
	}
	f.clusters["us-1"].down, f.clusters["us-1"].ill = false, false
	f.clusters["us-1"].np.Spec.Suspend = true
	f.blocked("eu-2", 0, "us-1: its NodePlan is suspended")
	f.clusters["us-1"].np.Spec.Suspend = false
	f.until("eu-2", 1)
}

// TestARevisionThatChangesNothingWaitsForItsTurn: and it does not start the soak time again.
func TestARevisionThatChangesNothingWaitsForItsTurn(t *testing.T) {
	f := newFleet(t)
	f.push("0", order+"\n# a comment\n")
	f.blocked("eu-1", 0, "dev: the cluster has applied 0")
	f.reconcile("dev")
	f.reconcile("eu-1")
	f.reconcile("us-1")
	f.reconcile("eu-2")
	for name := range f.clusters {
		if f.at(name) != 1 {
			t.Errorf("%s is at %d: %s", name, f.at(name), messageOf(f.clusters[name].np))
		}
	}
}

// TestAnArtifactOfTheAppliedCommitWaits: an author who can push artifacts chooses the commit that they name.
func TestAnArtifactOfTheAppliedCommitWaits(t *testing.T) {
	f := newFleet(t)
	f.push("1", order)
	m := f.clusters["eu-1"]
	m.worker.Sources = originSource{m.world, "main@sha1:0"}
	f.blocked("eu-1", 0, "It waits for ring dev; cluster dev:")
}

// TestAnUnverifiedArtifactIsProvenByItsDigest: an artifact that names a commit reaches the next ring, and does not wait
// again after it was applied.
func TestAnUnverifiedArtifactIsProvenByItsDigest(t *testing.T) {
	f := newFleet(t)
	for _, m := range f.clusters {
		m.worker.Sources = originSource{m.world, "main@sha1:abc"}
	}
	f.push("1", order)
	f.blocked("eu-1", 0, "It waits for ring dev; ")
	f.until("eu-1", 1)
	f.clusters["dev"].down = true
	if o := f.reconcile("eu-1"); strings.Contains(o.message, "waits for ring") {
		t.Errorf("it waits for a ring again: %s", o.message)
	}
}

// originSource is a source whose artifacts name the commit that they were built from.
type originSource struct {
	*world
	origin string
}

// Find implements Sources.
func (s originSource) Find(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	artifact, err := s.world.Find(ctx, np)
	artifact.Origin = s.origin
	return artifact, err
}

func TestApprovalSkipsARing(t *testing.T) {
	f := newFleet(t)
	f.push("1", order)
	f.blocked("eu-2", 0, "--guard rings:early")
	np := f.clusters["eu-2"].np
	if np.Status.Ring.Waiting == nil || np.Status.Ring.Name != "rest" || len(np.Status.Ring.Waiting.Clusters) != 2 {
		t.Errorf("the status has %+v", np.Status.Ring)
	}
	if given, err := plan.ApprovalFor(np, nil); err == nil || !strings.Contains(err.Error(), "add --guard rings:early") {
		t.Errorf("an approval that does not name the ring: %+v, %v", given, err)
	}
	approve := func(guards ...string) {
		np.Status.Approval = &lkeplanv1alpha1.Approval{
			PlanDigest: np.Status.Plan.Digest, Guards: guards, By: "jane", MaxNodes: 100,
			Expires: metav1.NewTime(f.now.Add(time.Hour)),
		}
	}
	approve("max_rolled_nodes:*")
	f.blocked("eu-2", 0, "eu-1: the cluster has applied 0")
	approve("rings:early")
	o := f.reconcile("eu-2")
	if f.at("eu-2") != 1 || o.approval == nil || np.Status.Approval != nil || np.Status.Ring.Waiting != nil {
		t.Fatalf("an approved revision waits: %+v", o)
	}
	if h := np.Status.History[0]; h.Approval == nil || !slices.Contains(h.Approval.Guards, "rings:early") {
		t.Errorf("the history has %+v", h)
	}
	if f.at("eu-1") != 0 {
		t.Error("the ring before gets the revision, too")
	}
}

// TestARevisionThatChangesNothingCanBeApproved: as its message says.
func TestARevisionThatChangesNothingCanBeApproved(t *testing.T) {
	f := newFleet(t)
	f.push("0", strings.Replace(order, "10m", "1m", 1))
	f.blocked("eu-1", 0, "--guard rings:dev")
	np := f.clusters["eu-1"].np
	given, err := plan.ApprovalFor(np, []string{"rings:dev"})
	if err != nil {
		t.Fatal(err)
	}
	given.By, given.Expires = "jane", metav1.NewTime(f.now.Add(time.Hour))
	np.Status.Approval = &given
	f.reconcile("eu-1")
	if f.at("eu-1") != 1 || np.Status.Approval != nil {
		t.Errorf("at %d: %s", f.at("eu-1"), messageOf(np))
	}
}

// TestARevisionWithAnUnknownBaseDoesNotLeaveItsRings: without the record of what was last applied, the
// rings of the revision itself would apply.
func TestARevisionWithAnUnknownBaseDoesNotLeaveItsRings(t *testing.T) {
	f := newFleet(t)
	f.push("0", "")
	m := f.clusters["eu-2"]
	for key, r := range m.records {
		r.record.Missing = "There is no record."
		m.records[key] = r
	}
	if o := f.reconcile("eu-2"); o.reason != lkeplanv1alpha1.ReasonWaitingForRing || f.at("eu-2") != 0 ||
		!strings.Contains(o.message, "The last applied rings are unknown") {
		t.Errorf("at %d: %s: %s", f.at("eu-2"), o.reason, o.message)
	}
}

// TestNoRevisionIsAppliedBeforeThePreviousRingHasProvenIt: commits, errors, outages and
// reconciliations in any order, in clusters whose clocks differ. And if all is healthy and no commit
// arrives, all clusters apply the last commit.
func TestNoRevisionIsAppliedBeforeThePreviousRingHasProvenIt(t *testing.T) {
	names := []string{"dev", "eu-1", "us-1", "eu-2"}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			f := newFleet(t)
			label := 0
			labels := []int{0}
			for _, m := range f.clusters {
				m.skew = time.Duration(random.IntN(7200)-3600) * time.Second
				m.np.Status.Ring.Proven[0].Looked = nil // by its new clock
				m.good["0"] = time.Hour
			}
			for range 250 {
				passed := time.Duration(random.IntN(90)) * time.Second
				for _, m := range f.clusters {
					if n := len(m.applied); n > 0 && !m.ill {
						m.good[fmt.Sprint(labels[m.applied[n-1]])] += passed
					}
				}
				f.now = f.now.Add(passed)
				name := names[random.IntN(len(names))]
				m := f.clusters[name]
				switch random.IntN(40) {
				case 0:
					label++
					fallthrough
				case 1: // a commit that changes nothing
					labels = append(labels, label)
					f.push(fmt.Sprint(label), order+fmt.Sprintf("# %d\n", len(labels)))
				case 2, 3:
					m.down = !m.down
				case 4:
					before := f.at(name)
					m.ill = !m.ill
					if f.reconcile(name); f.at(name) != before { // its controller notices
						f.check(name, labels)
					}
					if m.ill && !m.np.Spec.Suspend && f.at(name) == len(f.commits)-1 {
						m.good[fmt.Sprint(labels[f.at(name)])] = 0
					}
				case 5:
					m.np.Spec.Suspend = !m.np.Spec.Suspend
				default:
					before := f.at(name)
					if f.reconcile(name); f.at(name) != before {
						f.check(name, labels)
					}
				}
			}
			for _, m := range f.clusters {
				m.down, m.ill, m.np.Spec.Suspend = false, false, false
			}
			f.until("eu-2", len(f.commits)-1)
		})
	}
}

// check checks that the ring before a cluster has proven what the cluster has just applied.
func (f *fleet) check(name string, labels []int) {
	f.t.Helper()
	before := map[string][]string{"eu-1": {"dev"}, "us-1": {"dev"}, "eu-2": {"eu-1", "us-1"}}
	for _, other := range before[name] {
		m := f.clusters[other]
		switch good := m.good[fmt.Sprint(labels[f.at(name)])]; {
		case f.at(other) != f.at(name):
			f.t.Errorf("%s has applied %d, and %s is at %d", name, f.at(name), other, f.at(other))
		case m.down || m.np.Spec.Suspend || m.ill:
			f.t.Errorf("%s has applied %d, and %s is down (%v), suspended (%v) or ill (%v)", name, f.at(name), other, m.down,
				m.np.Spec.Suspend, m.ill)
		case other == "dev" && good < 10*time.Minute:
			f.t.Errorf("%s has applied %d, and %s had it for %s", name, f.at(name), other, good)
		}
	}
}

var _ Peers = (*fleet)(nil)
