package rings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/rings"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// proven is a NodePlan of the cluster us-1 that has applied the commit c1 and was ready for an hour.
func proven(change func(*lkeplanv1alpha1.NodePlan)) rings.Peer {
	np := &lkeplanv1alpha1.NodePlan{}
	np.Status.LastAppliedRevision, np.Status.LastAttemptedRevision = "main@sha1:c1", "main@sha1:c1"
	np.Status.Ring = &lkeplanv1alpha1.RingStatus{Cluster: "us-1", Proven: []lkeplanv1alpha1.ProvenRevision{
		{Commit: "c1", Rings: "sha256:r", Ready: metav1.Duration{Duration: time.Hour}},
		{Commit: "c0", Rings: "sha256:r", Ready: metav1.Duration{Duration: time.Hour}},
	}}
	np.Status.Conditions = ready("True", "ReconciliationSucceeded", "Applied revision: main@sha1:c1")
	if change != nil {
		change(np)
	}
	return rings.Peer{NodePlan: np}
}

func ready(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: "Ready", Status: status, Reason: reason, Message: message}}
}

func TestOnlyAProvenClusterLetsTheNextRingContinue(t *testing.T) {
	for name, tt := range map[string]struct {
		soak    time.Duration
		commit  string // c1 if empty
		peer    rings.Peer
		state   rings.State
		message string
	}{
		"proven":         {peer: proven(nil), state: rings.Proven},
		"proven earlier": {commit: "c0", peer: proven(nil), state: rings.Proven},
		"long enough":    {soak: time.Hour, peer: proven(nil), state: rings.Proven},
		"not long enough": {soak: 90 * time.Minute, peer: proven(nil), state: rings.Soaking,
			message: "ready for 1h of 1h30m"},
		"not read": {peer: rings.Peer{}, state: rings.Unknown, message: "there is no kubeconfig for the cluster"},
		"unreachable": {peer: rings.Peer{Unknown: "it is not reachable: timeout"}, state: rings.Unknown,
			message: "it is not reachable: timeout"},
		"never applied": {commit: "c2", peer: proven(nil), state: rings.Behind,
			message: "the cluster has applied c1, and not this revision"},
		"the empty commit": {commit: "-", peer: proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.Ring.Proven[0].Commit = ""
		}), state: rings.Behind, message: "the cluster has applied c1, and not this revision"},
		"older release": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) { np.Status.Ring = nil }), state: rings.Unknown,
			message: "its NodePlan reports no proven revision; lkeplan may be an older release there"},
		"another cluster": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) { np.Status.Ring.Cluster = "eu-1" }),
			state: rings.Mismatch, message: `its kubeconfig leads to the cluster "eu-1"`},
		"other rings": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) { np.Status.Ring.Proven[0].Rings = "" }),
			state: rings.Mismatch, message: "the directory of the cluster declares other rings in this revision; use the same module with the rings block in each directory"},
		"suspended": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) { np.Spec.Suspend = true }), state: rings.Stopped,
			message: "its NodePlan is suspended"},
		"only plans": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) { np.Spec.Mode = lkeplanv1alpha1.ModePlanOnly }),
			state: rings.Stopped, message: "its NodePlan has the mode PlanOnly, and applies nothing"},
		"being deleted": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) { np.DeletionTimestamp = &metav1.Time{} }),
			state: rings.Stopped, message: "its NodePlan is being deleted"},
		"new spec": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) { np.Generation = 2 }), state: rings.Working,
			message: "its NodePlan has a new spec, which the controller has not read yet"},
		"no condition": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) { np.Status.Conditions = nil }), state: rings.Behind,
			message: "the controller has not reconciled its NodePlan yet"},
		"error since": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.Conditions = ready("False", "HealthCheckFailed", "pool web is not ready\nmore")
		}), state: rings.NotReady, message: "HealthCheckFailed: pool web is not ready"},
		"works on it": {commit: "c2", peer: proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAttemptedRevision = "main@sha1:c2"
			np.Status.Conditions = ready("Unknown", "Proving", "1 of 2 nodes is ready")
		}), state: rings.Working, message: "Proving: 1 of 2 nodes is ready"},
		"nodes are replaced": {commit: "c2", peer: proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAttemptedRevision, np.Status.LastAppliedRevision = "main@sha1:c2", "main@sha1:c2"
			np.Status.Outdated = new(3)
		}), state: rings.Working, message: "3 nodes still to be replaced"},
		"proven, and drains again": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.Conditions = ready("Unknown", "Pruning", "pool web drains")
		}), state: rings.Working, message: "Pruning: pool web drains"},
		"works on a later one": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAttemptedRevision = "main@sha1:c2"
			np.Status.Conditions = ready("Unknown", "Proving", "")
		}), state: rings.Proven},
		"rolled back": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.Rollout = &lkeplanv1alpha1.RolloutStatus{
				Revision: "main@sha1:c1", Phase: "RolledBack", Message: "pool web: no node",
			}
		}), state: rings.Failed, message: "its rollout of the revision is RolledBack: pool web: no node"},
		"rolled back, from an artifact": {peer: proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.Rollout = &lkeplanv1alpha1.RolloutStatus{Revision: "latest@sha256:a1", Phase: "Held"}
		}), state: rings.Failed, message: "its rollout of the revision is Held: the first wave failed"},
		"long message": {peer: rings.Peer{Unknown: strings.Repeat("é\n", 10_000)}, state: rings.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			rev := rings.Revision{Commit: map[string]string{"": "c1", "-": ""}[tt.commit] + strings.Trim(tt.commit, "-"),
				Artifact: "a1", Rings: "sha256:r"}
			got := rings.Stand("us-1", tt.soak, rev, tt.peer)
			if got.State != tt.state || tt.message != "" && got.Message != tt.message || len(got.Message) > 400 {
				t.Errorf("got %q: %q, want %q: %q", got.State, got.Message, tt.state, tt.message)
			}
		})
	}
}

func TestCommitOf(t *testing.T) {
	for _, tt := range [][3]string{
		{"main@sha1:1f2c", "", "1f2c"},
		{"latest@sha256:9a", "main@sha1:1f2c", "1f2c"},
		{"main@sha1:1f2c", "1f2c", "1f2c"},
		{"odd@name@sha1:1f2c", "", "1f2c"},
		{"", "", ""},
	} {
		if got := rings.CommitOf(tt[0], tt[1]); got != tt[2] {
			t.Errorf("the commit of %q, %q is %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}

// TestRecord checks what a cluster reports after a series of checks, of which each is at a minute.
func TestRecord(t *testing.T) {
	type check struct {
		minute, commit int
		objects        string // "a" if empty
		then           string // "": ready
	}
	for name, tt := range map[string]struct {
		checks []check
		want   string
	}{
		"ready for ten minutes":         {[]check{{0, 1, "", ""}, {1, 1, "", ""}, {2, 1, "", ""}}, "c1 2m0s"},
		"no controller ran for an hour": {[]check{{0, 1, "", ""}, {60, 1, "", ""}}, "c1 2m0s"},
		"the clock goes back":           {[]check{{10, 1, "", ""}, {0, 1, "", ""}, {1, 1, "", ""}}, "c1 1m0s"},
		"nodes drift meanwhile": {
			[]check{{0, 1, "", ""}, {1, 1, "", "busy"}, {2, 1, "", ""}, {3, 1, "", ""}}, "c1 1m0s"},
		"unhealthy starts again": {
			[]check{{0, 1, "", ""}, {1, 1, "", ""}, {2, 1, "", "ill"}, {3, 1, "", ""}, {4, 1, "", ""}}, "c1 1m0s"},
		"never ready": {[]check{{0, 1, "", "busy"}, {1, 1, "", "busy"}}, ""},
		"two commits": {
			[]check{{0, 1, "", ""}, {1, 1, "", ""}, {2, 2, "b", ""}, {3, 2, "b", ""}}, "c2 1m0s, c1 1m0s"},
		"a commit that changes nothing": {
			[]check{{0, 1, "", ""}, {1, 1, "", ""}, {2, 2, "", ""}, {3, 2, "", ""}}, "c2 3m0s, c1 1m0s"},
		"a commit that changes nothing, and is ill": {
			[]check{{0, 1, "", ""}, {1, 1, "", ""}, {2, 2, "", ""}, {3, 2, "", "ill"}, {4, 2, "", ""}}, "c2 0s"},
		"back to an earlier commit": {
			[]check{{0, 1, "", ""}, {1, 2, "b", ""}, {2, 3, "c", ""}, {3, 1, "", ""}, {4, 1, "", ""}}, "c1 1m0s"},
		"back to an earlier commit, and not ready": {
			[]check{{0, 1, "", ""}, {1, 2, "b", ""}, {2, 1, "", "busy"}}, "c1 0s"},
		"other variables": {
			[]check{{0, 1, "", ""}, {1, 1, "", ""}, {2, 1, "b", ""}, {3, 1, "b", ""}}, "c1 1m0s"},
		"other variables, and back": {
			[]check{{0, 1, "", ""}, {1, 1, "", ""}, {2, 2, "b", ""}, {3, 2, "", ""}}, "c2 0s, c1 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []lkeplanv1alpha1.ProvenRevision
			for _, c := range tt.checks {
				o := rings.Observed{Commit: fmt.Sprintf("c%d", c.commit), Objects: "a" + c.objects, Ready: c.then == "",
					Unhealthy: c.then == "ill"}
				all = rings.Record(all, o, time.Date(2026, 11, 27, 8, c.minute, 0, 0, time.UTC))
			}
			var got []string
			for _, p := range all {
				got = append(got, p.Commit+" "+p.Ready.Duration.String())
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecordKeepsAFewRevisions(t *testing.T) {
	var all []lkeplanv1alpha1.ProvenRevision
	for i := range 100 {
		all = rings.Record(all, rings.Observed{Commit: fmt.Sprint("c", i), Objects: fmt.Sprint(i), Ready: true}, time.Now())
	}
	if len(all) != 20 || all[0].Commit != "c99" {
		t.Errorf("%d revisions are kept, the first is %s", len(all), all[0].Commit)
	}
}

func TestBefore(t *testing.T) {
	order := []config.Ring{{Name: "dev", Clusters: []string{"dev"}}, {Name: "rest", Clusters: []string{"eu", "us"}}}
	for cluster, want := range map[string]string{"dev": "", "us": "dev", "eu": "dev", "stranger": "rest"} {
		if got, _ := rings.Before(order, cluster); got.Name != want {
			t.Errorf("%s waits for %q, want %q", cluster, got.Name, want)
		}
	}
	if _, waits := rings.Before(nil, "us"); waits {
		t.Error("a cluster without rings waits")
	}
}

func TestDecideNamesAlarmingClustersFirst(t *testing.T) {
	ring := config.Ring{Name: "early", Clusters: []string{"a", "us-1", "z"}, Soak: 2 * time.Hour}
	d := rings.Decide(ring, rings.Revision{Commit: "c1"}, map[string]rings.Peer{
		"us-1": proven(nil), "z": {Unknown: "timeout"},
		"a": proven(func(np *lkeplanv1alpha1.NodePlan) { np.Status.Ring.Cluster = "a" }),
	})
	var got []string
	for _, s := range d.Waiting {
		got = append(got, s.Cluster+" "+string(s.State))
	}
	if diff := cmp.Diff([]string{"z Unknown", "a Soaking", "us-1 Soaking"}, got); diff != "" {
		t.Error(diff)
	}
}
