package maintenance

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// account is the list of maintenance, or the error in its place.
type account struct {
	list []api.Maintenance
	err  error
}

func (a *account) Maintenance(context.Context) ([]api.Maintenance, error) { return a.list, a.err }

// cluster is a cluster of nodes, each named by its instance.
type cluster struct {
	t *testing.T
	client.Client
	account
	now    time.Time
	events *events.FakeRecorder
	*Controller
}

func newCluster(t *testing.T, lead time.Duration, instances ...string) *cluster {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, linodev1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypes(schema.GroupVersion{Group: "karpenter.sh", Version: "v1"},
		&karpv1.NodeClaim{}, &karpv1.NodeClaimList{})
	class := &linodev1alpha1.LinodeNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if lead != 0 {
		class.Spec.ReplaceBeforeMaintenance = &metav1.Duration{Duration: lead}
	}
	objects := []client.Object{class}
	for _, id := range instances {
		nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: "claim-" + id, Labels: map[string]string{karpv1.NodePoolLabelKey: "web"},
		}}
		nc.Spec.NodeClassRef = &karpv1.NodeClassReference{
			Group: linodev1alpha1.Group, Kind: "LinodeNodeClass", Name: "default",
		}
		nc.Status.ProviderID, nc.Status.NodeName = "linode://"+id, "node-"+id
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + id}}
		node.Spec.ProviderID = "linode://" + id
		node.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		objects = append(objects, nc, node)
	}
	c := &cluster{t: t, now: noon, events: events.NewFakeRecorder(100)}
	c.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&karpv1.NodeClaim{}, &corev1.Node{}).Build()
	c.restart()
	return c
}

// restart replaces the process.
func (c *cluster) restart() {
	c.Controller = &Controller{Client: c.Client, API: &c.account, Events: c.events, Every: 10 * time.Minute,
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return c.now }}
}

// step lets the controller list and write once, ten minutes after the last time.
func (c *cluster) step() {
	c.t.Helper()
	c.now = c.now.Add(10 * time.Minute)
	if _, err := c.Reconcile(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// state is what each node has: "=" for maintenance on its claim, "T" for the taint, "R" if its claim is to be replaced.
func (c *cluster) state() map[string]string {
	c.t.Helper()
	var nodes corev1.NodeList
	if err := c.List(c.t.Context(), &nodes); err != nil {
		c.t.Fatal(err)
	}
	state := map[string]string{}
	for _, node := range nodes.Items {
		id, text := strings.TrimPrefix(node.Name, "node-"), ""
		if Of(c.claim(id)) != nil {
			text += "="
		}
		if slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == Taint }) {
			text += "T"
		}
		if node.Spec.Taints[0].Key != "team" || node.Status.Conditions[0].Type != corev1.NodeReady {
			c.t.Errorf("node %s lost a taint or a condition of another owner: %v, %v", id, node.Spec.Taints,
				node.Status.Conditions)
		}
		if c.claim(id).Annotations[AnnotationReplace] != "" {
			text += "R"
		}
		if text != "" {
			state[id] = text
		}
	}
	return state
}

func (c *cluster) claim(id string) *karpv1.NodeClaim {
	c.t.Helper()
	var nc karpv1.NodeClaim
	if err := c.Get(c.t.Context(), client.ObjectKey{Name: "claim-" + id}, &nc); err != nil {
		c.t.Fatal(err)
	}
	return &nc
}

func (c *cluster) want(state map[string]string) {
	c.t.Helper()
	if diff := cmp.Diff(state, c.state()); diff != "" {
		c.t.Error(diff)
	}
}

func (c *cluster) event(reason string) {
	c.t.Helper()
	select {
	case got := <-c.events.Events:
		if !strings.Contains(got, reason) {
			c.t.Errorf("the event is %q, want %s", got, reason)
		}
	default:
		c.t.Errorf("there is no event %s", reason)
	}
}

func (c *cluster) noEvent() {
	c.t.Helper()
	select {
	case got := <-c.events.Events:
		c.t.Errorf("there is an event: %q", got)
	default:
	}
}

// TestNodesAreReplacedInOrder: the second has its turn when Karpenter replaces the first.
func TestNodesAreReplacedInOrder(t *testing.T) {
	c := newCluster(t, 24*time.Hour, "1", "2", "3")
	c.account.list = []api.Maintenance{
		{Linode: 1, Type: "power_off_on", Start: in(9 * time.Hour)}, {Linode: 2, Type: "reboot", Start: in(5 * time.Hour)},
	}
	c.step()
	c.want(map[string]string{"1": "=T", "2": "=TR"})
	nc := c.claim("2")
	nc.StatusConditions().SetTrue(karpv1.ConditionTypeDrifted)
	if err := c.Status().Update(t.Context(), nc); err != nil {
		t.Fatal(err)
	}
	c.step()
	c.want(map[string]string{"1": "=TR", "2": "=TR"})
	c.noEvent()
}

func TestMaintenanceThatEndsLeavesNothing(t *testing.T) {
	c := newCluster(t, 24*time.Hour, "1")
	c.account.list = []api.Maintenance{{Linode: 1, Type: "migrate", Start: in(9 * time.Hour), Emergency: true}}
	c.step()
	c.account.list = nil
	c.step()
	c.want(map[string]string{})
	if has := c.claim("1").Annotations; len(has) != 0 {
		t.Errorf("the claim keeps %v", has)
	}
}

// TestNothingChangesWithoutAList: not after an error, not if the process is new, and not if the token lacks the scope.
// What is known still becomes due.
func TestNothingChangesWithoutAList(t *testing.T) {
	c := newCluster(t, time.Hour, "1")
	c.account.list = []api.Maintenance{{Linode: 1, Start: in(2 * time.Hour)}}
	c.step()
	c.want(map[string]string{"1": "="})
	c.account = account{err: errors.New("Linode does not answer")}
	c.restart()
	c.step()
	c.want(map[string]string{"1": "="})
	c.event(ReasonUnknown)
	for range 6 {
		c.step()
	}
	c.want(map[string]string{"1": "=TR"})
}

// TestNoNodeIsReplacedUnlessItsClassAsks: its claim has the maintenance, and it gets no taint.
func TestNoNodeIsReplacedUnlessItsClassAsks(t *testing.T) {
	c := newCluster(t, 0, "1", "2")
	c.account.list = []api.Maintenance{{Linode: 1, Start: in(time.Hour)}, {Linode: 2, Start: in(-time.Hour)}}
	c.step()
	c.want(map[string]string{"1": "=", "2": "="})
	c.account = account{err: errors.New("Linode does not answer")}
	c.step()
	c.noEvent()
}

// TestARefusedTokenIsReportedAsSuch: it names the scope.
func TestARefusedTokenIsReportedAsSuch(t *testing.T) {
	for err, want := range map[error]string{
		&api.Error{Status: 401}: api.ScopeMaintenance, &api.Error{Status: 403}: api.ScopeMaintenance,
		errors.New("[500] internal error"): "internal error",
	} {
		c := newCluster(t, time.Hour, "1")
		c.account.err = err
		c.step()
		c.event(want)
	}
}

// TestMaintenanceWithoutAStart replaces no node, and does not explain that the machine is off: it could do so for ever.
func TestMaintenanceWithoutAStart(t *testing.T) {
	c := newCluster(t, 24*time.Hour, "1")
	for _, status := range []string{"scheduled", "started"} {
		c.account.list = []api.Maintenance{{Linode: 1, Type: "migrate", Status: status}}
		c.step()
		c.want(map[string]string{"1": "="})
		if w := Of(c.claim("1")); w.Explains(c.now) {
			t.Errorf("%+v explains that the machine is off", w)
		}
	}
}

// TestMaintenanceIsOver four hours after its start, also if Linode does not answer.
func TestMaintenanceIsOver(t *testing.T) {
	c := newCluster(t, 24*time.Hour, "1")
	c.account.list = []api.Maintenance{{Linode: 1, Type: "migrate", Status: "started", Start: c.now}}
	for range 23 {
		c.step()
		c.want(map[string]string{"1": "=TR"})
	}
	c.account.err = errors.New("Linode does not answer")
	c.step()
	c.want(map[string]string{})
}

// TestTwoLeadersAgree: the last leader has an older list, and continues for a moment.
func TestTwoLeadersAgree(t *testing.T) {
	c := newCluster(t, 24*time.Hour, "1", "2")
	c.account.list = []api.Maintenance{{Linode: 1, Type: "reboot", Start: in(9 * time.Hour)}}
	c.step()
	last := c.Controller
	last.next = c.now.Add(time.Hour)
	c.account.list = []api.Maintenance{{Linode: 2, Type: "reboot", Start: in(9 * time.Hour)}}
	c.restart()
	c.step()
	c.want(map[string]string{"2": "=TR"})
	if _, err := last.Reconcile(t.Context()); err != nil { // its last write
		t.Fatal(err)
	}
	c.want(map[string]string{"2": "=TR"})
}

// TestAPIThatIsDownAtTheAnnouncement: once it answers, the maintenance is shown, and what is due is due immediately.
func TestAPIThatIsDownAtTheAnnouncement(t *testing.T) {
	c := newCluster(t, time.Hour, "1", "2")
	c.account.err = errors.New("Linode does not answer")
	for range 4 {
		c.step()
	}
	c.want(map[string]string{})
	c.event(ReasonUnknown)
	c.restart()
	c.account = account{list: []api.Maintenance{
		{Linode: 1, Type: "reboot", Start: c.now.Add(30 * time.Minute)},
		{Linode: 2, Type: "reboot", Start: c.now.Add(30 * time.Hour)},
	}}
	c.step()
	c.want(map[string]string{"1": "=TR", "2": "="})
}

// TestClockThatJumps: a clock that is set forward makes later maintenance due, and one that is set back to the right time
// takes that back.
func TestClockThatJumps(t *testing.T) {
	c := newCluster(t, time.Hour, "1")
	c.account.list = []api.Maintenance{{Linode: 1, Type: "reboot", Start: in(10 * time.Hour)}}
	for _, jump := range []struct {
		by   time.Duration
		want string
	}{{0, "="}, {9 * time.Hour, "=TR"}, {-9 * time.Hour, "="}} {
		c.now = c.now.Add(jump.by)
		c.step()
		c.want(map[string]string{"1": jump.want})
	}
}
