package rings

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Waiting is the state of a row whose cluster waits for the previous ring. Stand calls it Working.
const Waiting State = "Waiting"

// Row is the progress of one cluster with a revision, for people. Times are by the clock of the
// cluster.
type Row struct {
	Ring    string `json:"ring"`
	Cluster string `json:"cluster"`
	State   State  `json:"state"`
	// Applied is the commit that the cluster has applied last; "" if it is unknown or there is none.
	Applied string `json:"applied,omitempty"`
	// ReadySince is when the objects of Applied were first ready; nil if they were not.
	ReadySince *time.Time `json:"ready_since,omitempty"`
	// SoaksUntil is the earliest time at which a Soaking cluster has proven the revision.
	SoaksUntil *time.Time `json:"soaks_until,omitempty"`
	Message    string     `json:"message,omitempty"`
}

// Rows returns a row for each cluster, in the order of the rings. A cluster that is not among the
// peers is Unknown.
func Rows(order []config.Ring, rev Revision, peers map[string]Peer) []Row {
	rows := []Row{}
	for _, ring := range order {
		for _, cluster := range ring.Clusters {
			rows = append(rows, rowOf(ring, cluster, rev, peers[cluster]))
		}
	}
	return rows
}

func rowOf(ring config.Ring, cluster string, rev Revision, peer Peer) Row {
	s := Stand(cluster, ring.Soak, rev, peer)
	row := Row{Ring: ring.Name, Cluster: cluster, State: s.State, Message: s.Message}
	np := peer.NodePlan
	if np == nil || np.Status.Ring == nil || np.Status.Ring.Cluster != cluster { // it is about another cluster
		return row
	}
	applied := Revision{
		Commit:   CommitOf(np.Status.LastAppliedRevision, np.Status.LastAppliedOriginRevision),
		Artifact: CommitOf(np.Status.LastAppliedRevision, ""),
	}
	row.Applied = applied.Commit
	if proof := applied.proof(np.Status.Ring.Proven); proof != nil { // the commit of an unverified artifact is not proven
		row.Applied, row.ReadySince = proof.Commit, moment(proof.Since.Time)
	}
	switch wait := np.Status.Ring.Waiting; {
	case s.State == Soaking:
		proof := rev.proof(np.Status.Ring.Proven)
		if row.Applied == proof.Commit && proof.Looked != nil {
			row.SoaksUntil = moment(proof.Looked.Add(ring.Soak - proof.Ready.Duration))
			row.Message += "; proven at " + clock(*row.SoaksUntil) + " at the earliest"
		}
	case s.State == Working && wait != nil && rev.is(wait.Revision):
		row.State, row.Message = Waiting, WaitText(wait)
	}
	return row
}

// WaitText says for which ring a cluster waits, since when, and why. It starts with "waiting for".
func WaitText(w *lkeplanv1alpha1.RingWait) string {
	parts := []string{}
	for _, c := range w.Clusters {
		parts = append(parts, "cluster "+c.Name+": "+cmp.Or(c.Message, c.State))
	}
	text := fmt.Sprintf("waiting for ring %s since %s; %s", w.Ring, clock(w.Since.Time), strings.Join(parts, "; "))
	return diag.Shorten(diag.OneLine(text), maxMessage)
}

// Newest returns the revision that the first cluster has attempted last, of those that are known,
// in the order of the rings. It returns false if none is known.
func Newest(order []config.Ring, peers map[string]Peer) (Revision, bool) {
	for _, ring := range order {
		for _, cluster := range ring.Clusters {
			np := peers[cluster].NodePlan
			if np == nil || np.Status.Ring == nil || np.Status.Ring.Cluster != cluster {
				continue
			}
			rev := Revision{Artifact: CommitOf(np.Status.LastAttemptedRevision, ""), Rings: Digest(order)}
			if rev.Commit = rev.Artifact; np.Status.LastAttemptedRevision == np.Status.LastAppliedRevision {
				rev.Commit = CommitOf(np.Status.LastAppliedRevision, np.Status.LastAppliedOriginRevision)
			}
			if rev.Commit != "" {
				return rev, true
			}
		}
	}
	return Revision{}, false
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
