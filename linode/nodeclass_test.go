package linode

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lke"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// shelf is an account with one version and one firewall.
type shelf struct{ err error }

func (s shelf) Versions(context.Context, catalog.Tier) ([]string, error) {
	return []string{"v1.34.1+lke1", "v1.33.4+lke2"}, s.err
}

func (s shelf) Firewall(_ context.Context, id int) error {
	if s.err == nil && id != 7 {
		return &api.Error{Status: 404}
	}
	return s.err
}

// account is shelf, or counts what it is asked.
type account interface {
	Versions(ctx context.Context, tier catalog.Tier) ([]string, error)
	Firewall(ctx context.Context, id int) error
}

// plane is a control plane of one version.
type plane string

func (p plane) Version() string                   { return string(p) }
func (plane) Upgrades() <-chan event.GenericEvent { return nil }

// classes is the controller of the classes of a cluster of the tier.
func classes(
	c client.Client, tier catalog.Tier, control plane, account account, recorder events.EventRecorder,
) *NodeClass {
	cluster := api.Cluster{Tier: string(tier)}
	l := Linode{Cluster: cluster, Rules: lke.NewClasses(c, cluster, control, account, recorder), Standing: api.NewStanding(api.ScopePools)}
	return NewNodeClass(c, l, recorder)
}

// TestClassReferencesExistAtLinode: where Linode cannot be asked, the class is taken
// as it is.
func TestClassReferencesExistAtLinode(t *testing.T) {
	has, lacks, version, other := 7, 8, "v1.33.4+lke2", "v1.99.0+lke1"
	tests := []struct {
		name string
		spec linodev1alpha1.LinodeNodeClassSpec
		err  error
		want string
	}{
		{"both are there", linodev1alpha1.LinodeNodeClassSpec{FirewallID: &has, LKEK8sVersion: &version}, nil, ""},
		{
			"no such version", linodev1alpha1.LinodeNodeClassSpec{LKEK8sVersion: &other}, nil,
			"spec.lkeK8sVersion: LKE Enterprise has no version v1.99.0+lke1; it has: v1.34.1+lke1, v1.33.4+lke2",
		},
		{
			"no such firewall", linodev1alpha1.LinodeNodeClassSpec{FirewallID: &lacks}, nil,
			"spec.firewallID: the account has no firewall 8",
		},
		{
			"the token may not read", linodev1alpha1.LinodeNodeClassSpec{
				FirewallID: &lacks, LKEK8sVersion: &other,
			}, &api.Error{Status: 401}, "",
		},
		{
			"Linode is out of order", linodev1alpha1.LinodeNodeClassSpec{
				FirewallID: &lacks, LKEK8sVersion: &other,
			}, &api.Error{Status: 503}, "",
		},
		{
			"the account asks too often", linodev1alpha1.LinodeNodeClassSpec{
				FirewallID: &lacks, LKEK8sVersion: &other,
			}, &api.Error{Status: 429}, "",
		},
		{
			"Linode does not answer", linodev1alpha1.LinodeNodeClassSpec{
				FirewallID: &lacks, LKEK8sVersion: &other,
			}, context.DeadlineExceeded, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: tt.spec}
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class).WithStatusSubresource(class).
				WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexClass, func(client.Object) []string { return nil }).Build()
			controller := classes(c, catalog.Enterprise, plane("v1.33.9+lke1"), shelf{tt.err},
				events.NewFakeRecorder(5))
			if _, err := controller.Reconcile(t.Context(), ctrl.Request{
				NamespacedName: client.ObjectKeyFromObject(class),
			}); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
				t.Fatal(err)
			}
			got := class.StatusConditions().Get(linodev1alpha1.ConditionValidationSucceeded)
			if got.IsTrue() != (tt.want == "") || !strings.Contains(got.Message, tt.want) {
				t.Errorf("the condition is %s: %s", got.Status, got.Message)
			}
		})
	}
}

// counted is an account that counts what it is asked.
type counted struct {
	shelf
	calls *int
}

func (c counted) Versions(ctx context.Context, tier catalog.Tier) ([]string, error) {
	*c.calls++
	return c.shelf.Versions(ctx, tier)
}

func (c counted) Firewall(ctx context.Context, id int) error {
	*c.calls++
	return c.shelf.Firewall(ctx, id)
}

// TestNodeClaimsComeAndGoWithoutAskingLinode: a class that names a version and a
// firewall is checked once in ten minutes, however many of its NodeClaims change.
func TestNodeClaimsComeAndGoWithoutAskingLinode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		firewall, version := 7, "v1.33.4+lke2"
		class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		class.Spec.FirewallID, class.Spec.LKEK8sVersion = &firewall, &version
		c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class).WithStatusSubresource(class).
			WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexClass, func(client.Object) []string { return nil }).Build()
		calls, reconciled := 0, 0
		controller := classes(c, catalog.Enterprise, plane("v1.33.9+lke1"), counted{shelf{}, &calls},
			events.NewFakeRecorder(500))
		reconcile := func() {
			again, err := controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(class)})
			if reconciled++; err != nil || again.RequeueAfter != classEvery {
				t.Fatalf("again %+v, %v", again, err)
			}
		}
		reconcile()
		for n := range 100 {
			nc := decided(n)
			joined := nc.DeepCopy()
			joined.Status.NodeName = "lke77-1-a"
			for _, passes := range []bool{
				comeAndGone().Create(event.CreateEvent{Object: nc}),
				comeAndGone().Update(event.UpdateEvent{ObjectOld: nc, ObjectNew: nc}),
				comeAndGone().Update(event.UpdateEvent{ObjectOld: nc, ObjectNew: joined}),
				comeAndGone().Delete(event.DeleteEvent{Object: nc}),
			} {
				if passes {
					reconcile()
				}
			}
		}
		if calls != 2 || reconciled != 201 {
			t.Errorf("Linode was asked %d times while the class was reconciled %d times", calls, reconciled)
		}
		time.Sleep(classEvery)
		if reconcile(); calls != 4 {
			t.Errorf("after ten minutes Linode was asked %d times", calls-2)
		}
	})
}

// TestClassReportsWhetherLinodeAnswers: while the token is refused no node can be made;
// while Linode is silent NodeClaims wait.
func TestClassReportsWhetherLinodeAnswers(t *testing.T) {
	const answers = linodev1alpha1.ConditionLinodeAnswers
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class).WithStatusSubresource(class).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexClass, func(client.Object) []string { return nil }).Build()
	recorder := events.NewFakeRecorder(50)
	controller := classes(c, catalog.Standard, plane("1.33"), shelf{}, recorder)
	standing := controller.Standing
	list := func(class api.Class, err error) {
		standing.Observe(api.Call{Method: "GET", Route: "lke/clusters/{}/pools", Class: class, Err: err})
	}
	steps := []struct {
		name           string
		happens        func()
		answers, ready metav1.ConditionStatus
		reason, event  string
	}{
		{"at first", func() {}, "True", "True", answers, ""},
		{"the token is revoked", func() { list(api.ClassAuth, errors.New("401")) }, "False", "False", "TokenRefused",
			"TokenRefused the Linode API refuses the controller's token: 401; give the controller a token"},
		{"it is still", func() { list(api.ClassAuth, errors.New("401")) }, "False", "False", "TokenRefused", ""},
		{"it works again", func() { list(api.ClassNone, nil) }, "True", "True", answers, "answers again"},
		{"one call fails", func() { list(api.ClassUnknown, errors.New("502")) }, "True", "True", answers, ""},
		{"Linode is down", func() {
			list(api.ClassUnknown, errors.New("502"))
			list(api.ClassUnknown, errors.New("502"))
		}, "False", "True", "NoAnswer", "NoAnswer the Linode API does not respond correctly: 502"},
		{"it is back", func() { list(api.ClassNone, nil) }, "True", "True", answers, "answers again"},
	}
	for _, step := range steps {
		step.happens()
		if _, err := controller.Reconcile(t.Context(),
			ctrl.Request{NamespacedName: client.ObjectKeyFromObject(class)}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			t.Fatal(err)
		}
		got, ready := class.StatusConditions().Get(answers), class.StatusConditions().Root()
		if got.Status != step.answers || ready.Status != step.ready || got.Reason != step.reason {
			t.Errorf("%s: %s is %s (%s), Ready is %s: %s", step.name, answers, got.Status, got.Reason, ready.Status,
				ready.Message)
		}
		said := ""
		for len(recorder.Events) > 0 {
			said += <-recorder.Events
		}
		if (said == "") != (step.event == "") || !strings.Contains(said, step.event) {
			t.Errorf("%s: the events say %q, want %q", step.name, said, step.event)
		}
	}
}

// TestClassReportsPlansClosedToTheAccount in a condition that leaves it ready, and once in an event.
func TestClassReportsPlansClosedToTheAccount(t *testing.T) {
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(class).WithStatusSubresource(class).
		WithIndex(&karpv1.NodeClaim{}, nodeclaim.IndexClass, func(client.Object) []string { return nil }).Build()
	recorder := events.NewFakeRecorder(50)
	controller := classes(c, catalog.Standard, plane("1.33"), shelf{}, recorder)
	closed := closing{}
	controller.Plans = closed
	for _, step := range []struct {
		plan string // that is found closed
		said int
	}{{"", 0}, {"g7-highmem-8", 1}, {"", 0}} {
		if step.plan != "" {
			closed[step.plan] = time.Now().Add(time.Hour)
		}
		if _, err := controller.Reconcile(t.Context(),
			ctrl.Request{NamespacedName: client.ObjectKeyFromObject(class)}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			t.Fatal(err)
		}
		got := class.StatusConditions(status.WithObservedOnly()).Get(linodev1alpha1.ConditionPlanClosed)
		if got.IsTrue() != (len(closed) > 0) || got.IsTrue() && (!strings.Contains(got.Message, "g7-highmem-8") ||
			!strings.Contains(got.Message, "Support")) || !class.StatusConditions().Root().IsTrue() {
			t.Errorf("%v: the condition is %+v", closed, got)
		}
		if len(recorder.Events) != step.said {
			t.Errorf("%v: %d events, want %d", closed, len(recorder.Events), step.said)
		}
		for len(recorder.Events) > 0 {
			<-recorder.Events
		}
	}
	delete(closed, "g7-highmem-8")
	if _, err := controller.Reconcile(t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKeyFromObject(class)}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
		t.Fatal(err)
	}
	if got := class.StatusConditions(status.WithObservedOnly()).Get(linodev1alpha1.ConditionPlanClosed); got != nil {
		t.Errorf("the condition is still there: %+v", got)
	}
}

// closing are plans that are closed to the account, and until when.
type closing map[string]time.Time

func (c closing) Closed() map[string]time.Time { return maps.Clone(c) }
func (c closing) Closing() <-chan struct{}     { return nil }
