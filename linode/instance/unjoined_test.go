package instance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/instance/token"
	"github.com/lkeplan/lkeplan/linode/maintenance"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// unjoinedWorld is a cluster with one claim, whose machine 7 was made at the start and does not join.
type unjoinedWorld struct {
	*testing.T
	i     *Machines
	nc    *karpv1.NodeClaim
	began time.Time
	count func() map[string]float64
	ahead time.Duration // the API server's clock
	seen  []string
}

func newUnjoined(t *testing.T, change func(*karpv1.NodeClaim)) *unjoinedWorld {
	nc := ordered("uid-a", "g6-standard-4", 7, time.Now())
	nc.StatusConditions().SetUnknown(karpv1.ConditionTypeRegistered)
	if change != nil {
		change(nc)
	}
	i, count := countingIn(t, &listing{}, nc)
	return &unjoinedWorld{T: t, i: i, nc: nc, began: time.Now(), count: count}
}

// reports has the machine of the claim report.
func (w *unjoinedWorld) reports(text string) {
	w.Helper()
	r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("r%d", time.Since(w.began)), UID: types.UID(fmt.Sprint(time.Since(w.began))),
		CreationTimestamp: metav1.NewTime(time.Now().Add(w.ahead)),
		Annotations:       map[string]string{token.AnnotationJoinFailure: text},
	}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Username: "system:bootstrap:" + token.IDs("uid-a")[0], Groups: []string{token.Group},
	}}
	if _, err := token.Lean(r); err != nil {
		w.Fatal(err)
	}
	if err := w.i.cfg.Client.Create(w.Context(), r); err != nil {
		w.Fatal(err)
	}
	w.i.Reported(w.Context(), w.nc)
	w.drain()
}

// until lets time pass, with a look each 20 seconds.
func (w *unjoinedWorld) until(after time.Duration) {
	w.Helper()
	for time.Since(w.began) < after {
		time.Sleep(20 * time.Second)
		w.look()
	}
}

func (w *unjoinedWorld) look() {
	w.Helper()
	if _, _, err := (cluster{w.i}).Look(w.Context()); err != nil {
		w.Fatal(err)
	}
	synctest.Wait()
	w.drain()
}

// ends has Karpenter delete the claim.
func (w *unjoinedWorld) ends() {
	w.Helper()
	w.nc.Finalizers = []string{"karpenter.sh/termination"}
	if err := w.i.cfg.Client.Update(w.Context(), w.nc); err != nil {
		w.Fatal(err)
	}
	if err := w.i.cfg.Client.Delete(w.Context(), w.nc); err != nil {
		w.Fatal(err)
	}
	w.look()
	w.look()
}

func (w *unjoinedWorld) drain() {
	said := w.i.cfg.Events.(*events.FakeRecorder).Events
	for len(said) > 0 {
		w.seen = append(w.seen, fmt.Sprintf("%s %s", time.Since(w.began), <-said))
	}
}

// TestEventsReportWhyAMachineHasNotJoined at once if it reports, after three minutes if it does not, and once
// more when its claim ends.
func TestEventsReportWhyAMachineHasNotJoined(t *testing.T) {
	const (
		cannot  = "Warning MachineCannotJoin Linode 7 cannot join: "
		late    = "Warning MachineNotJoined Linode 7 has not joined the cluster within "
		after   = " minutes and is deleted after 15; "
		console = "its console: ssh -t USER@lish-us-ord.linode.com prod-c1b41cff14418523db5f; "
		silence = after + console + "the Linode has not reported why"
		guess   = ": perhaps it does not boot, does not reach or trust the API server, or has a wrong clock"
		over    = "Warning MachineNotJoined Linode 7 has not joined the cluster within 15 minutes and is deleted: "
	)
	for name, c := range map[string]struct {
		claim func(*karpv1.NodeClaim)
		play  func(w *unjoinedWorld)
		want  []string // beginnings of events
		count string   // reported, silent, given-up
	}{
		"it reports": {
			play: func(w *unjoinedWorld) {
				time.Sleep(time.Minute)
				w.reports("kubelet: running with swap on is not supported")
				w.until(4 * time.Minute)
			},
			want:  []string{`1m0s ` + cannot + `"kubelet: running with swap on is not supported"`},
			count: "1 0 0",
		},
		"it reports nothing": {
			play:  func(w *unjoinedWorld) { w.until(9 * time.Minute) },
			want:  []string{"3m0s " + late + "3" + silence + guess, "8m0s " + late + "8" + silence + guess},
			count: "0 1 0",
		},
		"its host is maintained meanwhile": {
			claim: func(nc *karpv1.NodeClaim) {
				start := time.Now().Add(6*time.Minute - maintenance.Lasts).UTC().Format(time.RFC3339)
				nc.Annotations = map[string]string{maintenance.Annotation: `{"start": "` + start + `", "type": "reboot"}`}
			},
			play: func(w *unjoinedWorld) { w.until(9 * time.Minute) },
			want: []string{
				"3m0s Normal MachineNotJoined Linode 7 has not joined the cluster within 3 minutes; Linode maintains its host " +
					"(type reboot, starts at 1999-12-31T20:06:00Z), and lkeplan waits for the machine until 2000-01-01T00:06:00Z",
				"8m0s " + late + "8" + silence + guess,
			},
			count: "0 1 0",
		},
		"a template may have no reports": {
			claim: func(nc *karpv1.NodeClaim) {
				nc.Annotations = map[string]string{nodeclaim.AnnotationOrder: `{"plan":"p","image":"i","bootstrap":{"kind":"custom"}}`}
			},
			play:  func(w *unjoinedWorld) { w.until(4 * time.Minute) },
			want:  []string{"3m0s " + late + "3" + silence},
			count: "0 1 0",
		},
		"it reports once, and then no more": {
			play: func(w *unjoinedWorld) {
				time.Sleep(time.Minute)
				w.reports("no route to the image")
				w.until(7 * time.Minute)
			},
			want: []string{
				"1m0s " + cannot,
				"6m0s " + late + "6" + after + console + `its last report, 5m0s ago: "no route to the image"`,
			},
			count: "1 0 0",
		},
		"the API server's clock is an hour behind": {
			play: func(w *unjoinedWorld) {
				w.ahead = -time.Hour
				w.reports("swap")
				time.Sleep(2 * time.Minute)
				w.reports("still swap")
				w.until(4 * time.Minute)
			},
			want: []string{"0s " + cannot + `"swap"`, "2m0s " + cannot + `"still swap"`}, count: "2 0 0",
		},
		"the same again and again": {
			play: func(w *unjoinedWorld) {
				for range 120 { // ten minutes
					w.reports("swap")
					time.Sleep(5 * time.Second)
				}
			},
			want: []string{"0s " + cannot, "5m0s " + cannot}, count: "120 0 0",
		},
		"another text each second": {
			play: func(w *unjoinedWorld) {
				for n := range 180 {
					w.reports(fmt.Sprint("text ", n))
					time.Sleep(time.Second)
				}
			},
			want:  []string{"0s " + cannot + `"text 0"`, "1m0s " + cannot + `"text 60"`, "2m0s " + cannot + `"text 120"`},
			count: "180 0 0",
		},
		"another text soon after the first is said later": {
			play: func(w *unjoinedWorld) {
				w.reports("first")
				time.Sleep(10 * time.Second)
				w.reports("second")
				w.until(2 * time.Minute)
			},
			want: []string{"0s " + cannot + `"first"`, "1m10s " + cannot + `"second"`}, count: "2 0 0",
		},
		"its claim ends": {
			play: func(w *unjoinedWorld) {
				w.until(14 * time.Minute)
				w.reports("swap")
				time.Sleep(time.Minute)
				w.ends()
			},
			want: []string{
				"3m0s", "8m0s", "13m0s", "14m0s " + cannot, "15m0s " + over + `its last report, 1m0s ago: "swap"`,
			},
			count: "1 1 1",
		},
		"its claim ends, and it never reported": {
			play: func(w *unjoinedWorld) {
				w.i.unjoined["uid-a"] = unjoined{silentAt: time.Now().Add(time.Hour)} // said
				time.Sleep(16 * time.Minute)
				w.ends()
			},
			want: []string{"16m0s " + over + "the Linode has not reported why"}, count: "0 0 1",
		},
		"a person deletes its claim": {
			play: func(w *unjoinedWorld) {
				time.Sleep(time.Minute)
				w.ends()
			},
			count: "0 0 0",
		},
		"it has joined": {
			claim: func(nc *karpv1.NodeClaim) { nc.StatusConditions().SetTrue(karpv1.ConditionTypeRegistered) },
			play:  func(w *unjoinedWorld) { w.until(9 * time.Minute) }, count: "0 0 0",
		},
		"it has no machine": {
			claim: func(nc *karpv1.NodeClaim) { nc.Status.ProviderID = nodeclaim.PendingID("uid-a") },
			play:  func(w *unjoinedWorld) { w.until(9 * time.Minute) }, count: "0 0 0",
		},
		"a controller starts when all is said": {
			play: func(w *unjoinedWorld) {
				w.reports("swap")
				time.Sleep(4 * time.Minute)
				w.i.unjoined = map[string]unjoined{}
				w.look()
			},
			want: []string{"0s " + cannot + `"swap"`, "4m0s " + cannot + `"swap"`}, count: "1 0 0",
		},
		"the largest text, in signs that are escaped": {
			play: func(w *unjoinedWorld) {
				w.reports(strings.Repeat("\x1b", 1<<20))
				w.until(6 * time.Minute)
			},
			want: []string{"0s " + cannot + `"\x1b`, "5m0s"}, count: "1 0 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newUnjoined(t, c.claim)
				c.play(w)
				for n, event := range w.seen {
					if n >= len(c.want) || !strings.HasPrefix(event, c.want[n]) {
						t.Errorf("event %d: %s", n, event)
					}
					if len(event) > 1024 || strings.Contains(event, "is deleted after") && !strings.Contains(event, console) {
						t.Errorf("%d bytes: %s", len(event), event)
					}
				}
				if len(w.seen) < len(c.want) {
					t.Errorf("%d events, want %q", len(w.seen), c.want)
				}
				w.look()
				got := w.count()
				of := func(reason string) float64 { return got["lkeplan_join_failures_total "+reason] }
				if count := fmt.Sprint(of("reported"), of("silent"), of("given-up")); count != c.count {
					t.Errorf("counted %s, want %s", count, c.count)
				}
				if len(w.i.unjoined) > 1 {
					t.Errorf("remembered are %d claims", len(w.i.unjoined))
				}
			})
		})
	}
}

// related keeps which other objects events are about.
type related struct{ names []string }

func (r *related) Eventf(_, other runtime.Object, _, _, _, _ string, _ ...any) {
	r.names = append(r.names, other.(client.Object).GetName())
}

// unlistable is an API server that does not list requests for certificates.
type unlistable struct{ client.Client }

func (u unlistable) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	if _, is := l.(*certificatesv1.CertificateSigningRequestList); is {
		return errors.New("no")
	}
	return u.Client.List(ctx, l, opts...)
}

// TestEventsOfReportsAreNotOne: the recorder counts events about the same objects, and writes the first alone.
func TestEventsOfReportsAreNotOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newUnjoined(t, nil)
		recorder := &related{}
		w.i.cfg.Events = recorder
		for n := range 2 {
			w.i.sayUnjoined(w.nc, time.Now(), &token.Report{Text: fmt.Sprint(n),
				Request: &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(n), UID: types.UID(fmt.Sprint(n))}}})
			time.Sleep(2 * time.Minute)
		}
		if got := strings.Join(recorder.names, " "); got != "0 1" {
			t.Errorf("related are %s", got)
		}
	})
}

// TestUnknownReportsAreNotMentioned: if they cannot be listed, no event claims that none exists.
func TestUnknownReportsAreNotMentioned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newUnjoined(t, nil)
		w.i.cfg.Client = unlistable{w.i.cfg.Client}
		w.until(5 * time.Minute)
		if len(w.seen) > 0 {
			t.Errorf("%q", w.seen)
		}
	})
}
