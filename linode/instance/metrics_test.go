package instance

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/linodetest"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// ordered is a claim of a plan type, with its machine or waiting for it.
func ordered(uid, plan string, instance int, created time.Time) *karpv1.NodeClaim {
	nc := claim(uid)
	nc.Labels = map[string]string{"node.kubernetes.io/instance-type": plan}
	nc.CreationTimestamp = metav1.NewTime(created)
	nc.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default"}
	nc.Status.ProviderID = nodeclaim.PendingID(uid)
	if instance != 0 {
		nc.Status.ProviderID = nodeclaim.LinodeID(instance)
	}
	return nc
}

// TestMetricsCountLinodesOfTheCluster: those with and without an owner, those that are
// still to come, and who waits; not the claims of another provider.
func TestMetricsCountLinodesOfTheCluster(t *testing.T) {
	early := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	made := func(id int, plan, label string) api.Instance {
		return api.Instance{ID: id, Type: plan, Label: label}
	}
	leaving, others := ordered("leaving", "g6-standard-8", 0, early), ordered("others", "g6-standard-8", 0, early)
	leaving.DeletionTimestamp = &metav1.Time{Time: early}
	others.Spec.NodeClassRef.Group = "karpenter.k8s.aws"
	for name, tc := range map[string]struct {
		claims []*karpv1.NodeClaim
		all    []api.Instance
		want   nodeclaim.Rows
	}{
		"nothing": {want: nodeclaim.Rows{}},
		"each state": {
			claims: []*karpv1.NodeClaim{
				ordered("a", "g6-standard-4", 10, early), ordered("b", "g6-standard-4", 0, early.Add(time.Minute)),
				ordered("c", "g6-standard-4", 0, early), leaving, others,
			},
			all: []api.Instance{made(10, "g6-standard-4", "prod-x"), made(11, "g6-standard-2", "prod-y")},
			want: nodeclaim.Rows{
				"g6-standard-4": {Bound: 1, Coming: 2, Waiting: 2, Since: early}, "g6-standard-2": {Unowned: 1},
			},
		},
		"made, and not stored on its claim yet": {
			claims: []*karpv1.NodeClaim{ordered("a", "g6-standard-4", 0, early)},
			all:    []api.Instance{made(10, "g6-standard-4", decide.Label("prod", "a"))},
			want:   nodeclaim.Rows{"g6-standard-4": {Bound: 1, Waiting: 1, Since: early}},
		},
		"made late, and its claim ends": {
			claims: []*karpv1.NodeClaim{leaving},
			all:    []api.Instance{made(10, "g6-standard-8", decide.Label("prod", "leaving"))},
			want:   nodeclaim.Rows{"g6-standard-8": {Bound: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var claims []karpv1.NodeClaim
			for _, nc := range tc.claims {
				claims = append(claims, *nc)
			}
			if diff := cmp.Diff(tc.want, countMachines("prod", claims, tc.all)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// listing is an account at Linode that shows these, and makes none.
type listing struct {
	API
	all []api.Instance
	err error
}

func (l *listing) Instances(context.Context, string) ([]api.Instance, error) { return l.all, l.err }

// countingIn are Instances of a cluster with these claims and Linodes, and what they count.
func countingIn(t *testing.T, l *listing, claims ...client.Object) (*Machines, func() map[string]float64) {
	t.Helper()
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(claims...).WithStatusSubresource(claims...).
		WithIndex(&karpv1.NodeClaim{}, "metadata.uid", nodeclaim.UIDs).
		WithIndex(&karpv1.NodeClaim{}, "status.providerID", func(o client.Object) []string {
			return []string{o.(*karpv1.NodeClaim).Status.ProviderID}
		}).Build()
	i := New(Config{
		Client: c, Live: c, API: l, Identity: Identity{Name: "prod", uid: "u"}, Types: typesOf(t),
		Events: events.NewFakeRecorder(10), Log: slog.New(slog.DiscardHandler),
	})
	registry := prometheus.NewRegistry()
	registry.MustRegister(i.Metrics()...)
	return i, func() map[string]float64 {
		values, err := linodetest.Gathered(registry)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
}

// TestMetricsFollowTheLinodes: what they cost while they are there, and who waits.
func TestMetricsFollowTheLinodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &listing{all: []api.Instance{
			{ID: 10, Type: "g6-standard-4", Label: "prod-x"}, {ID: 11, Type: "g6-standard-4", Label: "prod-y"},
		}}
		i, counted := countingIn(t, l, ordered("a", "g6-standard-4", 10, time.Now()),
			ordered("b", "g6-standard-4", 0, time.Unix(1000, 0)))
		look := func() {
			i.listed(time.Now(), l.all)
			if _, _, err := (cluster{i}).Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // for the tags
		}
		look()
		got := counted()
		for name, want := range map[string]float64{
			"lkeplan_machines bound": 1, "lkeplan_machines unowned": 1, "lkeplan_machines coming": 1,
			"lkeplan_machines_hourly_cost_dollars": 2 * 0.072, "lkeplan_machines_monthly_cost_dollars": 2 * 48,
			"lkeplan_claims_waiting": 1, "lkeplan_claims_waiting_since_timestamp_seconds": 1000,
			"lkeplan_lke_refusals_total label-taken": 0,
		} {
			if value, there := got[name]; !there || value-want > 1e-9 || want-value > 1e-9 {
				t.Errorf("%s is %v (%v), want %v", name, value, there, want)
			}
		}
		l.all = nil
		for _, uid := range []string{"a", "b"} {
			if err := i.cfg.Client.Delete(t.Context(), claim(uid)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second) // in the bubble: the next list is a later one
		look()
		if _, known := counted()["lkeplan_machines bound"]; known {
			t.Error("the plan type is not forgotten")
		}
	})
}

// TestRefusedCapacityIsCounted by its reason, and what it was not asked for is not.
func TestRefusedCapacityIsCounted(t *testing.T) {
	answer := func(status int, reason, field string) error {
		return &api.Error{Status: status, Reasons: []api.Reason{{Reason: reason, Field: field}}}
	}
	for reason, err := range map[string]error{
		"auth": answer(http.StatusUnauthorized, "Invalid Token", ""), "busy": answer(http.StatusTooManyRequests, "", ""),
		"validation":  answer(http.StatusBadRequest, "no such image", "image"),
		"label-taken": answer(http.StatusBadRequest, "Label must be unique among your linodes", "label"),
		"unknown":     errors.New("no answer"),
		"":            unspecifiedError{errors.New("the Secret is not there")},
	} {
		i, counted := countingIn(t, &listing{}, ordered("a", "g6-standard-4", 0, time.Now()))
		cluster{i}.Refused(t.Context(), "a", err)
		cluster{i}.Refused(t.Context(), "gone", err)
		got := counted()
		if reason == "" && len(got) > 0 {
			t.Errorf("%v: %v", err, got)
		} else if reason != "" && got["lkeplan_lke_refusals_total "+reason] != 1 {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// TestBindingIsTimed from the claim's creation, once.
func TestBindingIsTimed(t *testing.T) {
	nc := ordered("a", "g6-standard-4", 0, time.Now())
	nc.Annotations = map[string]string{nodeclaim.AnnotationOrder: "{}"}
	i, counted := countingIn(t, &listing{}, nc)
	for range 2 {
		_ = cluster{i}.Bind(t.Context(), decide.Bind{UID: "a", Machine: 10})
	}
	if got := counted()["lkeplan_bind_duration_seconds"]; got != 1 {
		t.Errorf("it was counted %v times", got)
	}
}
