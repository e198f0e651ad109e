package rings_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/rings"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

var eight = time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)

// soaking is the NodePlan of us-1 that applied the commit c1 at eight, and was last checked after ten
// minutes.
func soaking(np *lkeplanv1alpha1.NodePlan) {
	proof := &np.Status.Ring.Proven[0]
	proof.Since, proof.Ready = metav1.NewTime(eight), metav1.Duration{Duration: 10 * time.Minute}
	proof.Looked = &metav1.Time{Time: eight.Add(10 * time.Minute)}
}

// TestRows: a cluster is only shown with what it reports about itself.
func TestRows(t *testing.T) {
	at := func(d time.Duration) *time.Time { t := eight.Add(d); return &t }
	for name, tt := range map[string]struct {
		peer rings.Peer
		want rings.Row
	}{
		"soaking": {proven(soaking), rings.Row{
			State: rings.Soaking, Applied: "c1", ReadySince: at(0), SoaksUntil: at(30 * time.Minute),
			Message: "ready for 10m of 30m; proven at 2026-11-27 08:30 UTC at the earliest",
		}},
		"soaking, and not ready now": {proven(func(np *lkeplanv1alpha1.NodePlan) {
			soaking(np)
			np.Status.Ring.Proven[0].Looked = nil
		}), rings.Row{State: rings.Soaking, Applied: "c1", ReadySince: at(0), Message: "ready for 10m of 30m"}},
		"soaking, and a later commit is applied": {proven(func(np *lkeplanv1alpha1.NodePlan) {
			soaking(np)
			np.Status.LastAppliedRevision, np.Status.LastAttemptedRevision = "main@sha1:c2", "main@sha1:c2"
		}), rings.Row{State: rings.Soaking, Applied: "c2", Message: "ready for 10m of 30m"}},
		"an artifact without a verified signature": {proven(func(np *lkeplanv1alpha1.NodePlan) {
			soaking(np)
			np.Status.LastAppliedRevision, np.Status.LastAttemptedRevision = "latest@sha256:d1", "latest@sha256:d1"
			np.Status.LastAppliedOriginRevision = "main@sha1:c1"
			np.Status.Ring.Proven[0].Commit = "d1"
		}), rings.Row{
			State: rings.Soaking, Applied: "d1", ReadySince: at(0), SoaksUntil: at(30 * time.Minute),
			Message: "ready for 10m of 30m; proven at 2026-11-27 08:30 UTC at the earliest",
		}},
		"proven": {proven(func(np *lkeplanv1alpha1.NodePlan) { np.Status.Ring.Proven[0].Since = metav1.NewTime(eight) }),
			rings.Row{State: rings.Proven, Applied: "c1", ReadySince: at(0)}},
		"waiting": {proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAppliedRevision = "main@sha1:c0"
			np.Status.Ring.Proven = nil
			np.Status.Conditions = ready("Unknown", "WaitingForRing", "")
			np.Status.Ring.Waiting = &lkeplanv1alpha1.RingWait{
				Revision: "main@sha1:c1", Ring: "dev", Since: metav1.NewTime(eight), Clusters: []lkeplanv1alpha1.RingCluster{
					{Name: "dev", State: "Soaking", Message: "ready for 1m of 5m"}, {Name: "x", State: "Unknown"},
				},
			}
		}), rings.Row{State: rings.Waiting, Applied: "c0",
			Message: "waiting for ring dev since 2026-11-27 08:00 UTC; cluster dev: ready for 1m of 5m; cluster x: Unknown"}},
		"waiting with an earlier commit": {proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAppliedRevision, np.Status.LastAttemptedRevision = "main@sha1:c0", "main@sha1:c9"
			np.Status.Ring.Proven = nil
			np.Status.Conditions = ready("Unknown", "WaitingForRing", "")
			np.Status.Ring.Waiting = &lkeplanv1alpha1.RingWait{Revision: "main@sha1:c9", Ring: "dev"}
		}), rings.Row{State: rings.Behind, Applied: "c0", Message: "the cluster has applied c0, and not this revision"}},
		"unknown":  {rings.Peer{Unknown: "timeout"}, rings.Row{State: rings.Unknown, Message: "timeout"}},
		"not read": {rings.Peer{}, rings.Row{State: rings.Unknown, Message: "there is no kubeconfig for the cluster"}},
		"old release": {proven(func(np *lkeplanv1alpha1.NodePlan) { np.Status.Ring = nil }), rings.Row{
			State: rings.Unknown, Message: "its NodePlan reports no proven revision; lkeplan may be an older release there",
		}},
		"another cluster": {proven(func(np *lkeplanv1alpha1.NodePlan) { np.Status.Ring.Cluster = "eu-1" }),
			rings.Row{State: rings.Mismatch, Message: `its kubeconfig leads to the cluster "eu-1"`}},
	} {
		t.Run(name, func(t *testing.T) {
			order := []config.Ring{{Name: "rest", Clusters: []string{"us-1"}, Soak: 30 * time.Minute}}
			if name == "proven" {
				order[0].Soak = 0
			}
			tt.want.Ring, tt.want.Cluster = "rest", "us-1"
			rev := rings.Revision{Commit: "c1", Artifact: "c1", Rings: "sha256:r"}
			if tt.want.Applied == "d1" {
				rev.Artifact = "d1"
			}
			got := rings.Rows(order, rev, map[string]rings.Peer{"us-1": tt.peer})
			if diff := cmp.Diff([]rings.Row{tt.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNewest: the revision comes from the first cluster that can be read and is the named one.
func TestNewest(t *testing.T) {
	order := []config.Ring{{Name: "dev", Clusters: []string{"dev"}}, {Name: "rest", Clusters: []string{"us-1"}}}
	named := func(commit string) rings.Peer {
		return proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.Ring.Cluster, np.Status.LastAttemptedRevision = "dev", commit
		})
	}
	for name, tt := range map[string]struct {
		peers map[string]rings.Peer
		want  string
	}{
		"nothing":           {nil, ""},
		"the first ring":    {map[string]rings.Peer{"dev": named("main@sha1:c2"), "us-1": proven(nil)}, "c2"},
		"dev is down":       {map[string]rings.Peer{"dev": {Unknown: "timeout"}, "us-1": proven(nil)}, "c1"},
		"another cluster":   {map[string]rings.Peer{"dev": proven(nil)}, ""},
		"nothing attempted": {map[string]rings.Peer{"dev": named(""), "us-1": proven(nil)}, "c1"},
		"an artifact": {map[string]rings.Peer{"us-1": proven(func(np *lkeplanv1alpha1.NodePlan) {
			np.Status.LastAttemptedRevision, np.Status.LastAppliedRevision = "latest@sha256:9a", "latest@sha256:9a"
			np.Status.LastAppliedOriginRevision = "main@sha1:c1"
		})}, "c1"},
	} {
		if got, known := rings.Newest(order, tt.peers); got.Commit != tt.want || known != (tt.want != "") {
			t.Errorf("%s: got %q, want %q", name, got.Commit, tt.want)
		}
	}
}

// TestTurns: the soak times of all previous rings add up.
func TestTurns(t *testing.T) {
	got := rings.Turns([]config.Ring{
		{Name: "dev", Clusters: []string{"dev"}, Soak: time.Hour},
		{Name: "early", Clusters: []string{"us-1"}, Soak: time.Minute},
		{Name: "rest", Clusters: []string{"eu-1"}, Soak: time.Hour},
	})
	want := []rings.Turn{{"dev", []string{"dev"}, 0}, {"early", []string{"us-1"}, time.Hour},
		{"rest", []string{"eu-1"}, 61 * time.Minute}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rings.Turns(nil) != nil {
		t.Error("there are turns without rings")
	}
}
