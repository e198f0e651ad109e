package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kuberecorder "k8s.io/client-go/tools/record"

	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// clocked is a world with a NodePlan whose pool web and buffer spare have other values at night and at the weekend.
type clocked struct {
	*world
	np      *lkeplanv1alpha1.NodePlan
	now     time.Time
	events  *kuberecorder.FakeRecorder
	control *Reconciler
	down    bool   // the source cannot be found
	found   func() // called when the source was found
}

const settings = `
pool "web" {
  node_class   = node_class.default
  requirements = { cpu = 4 }
  limits       = { cpu = 400 }
  disruption {
    consolidate_after = "1h"
  }
  during "night" {
    schedule  = "0 20 * * mon-fri"
    duration  = "10h"
    time_zone = "Europe/Berlin"
    limits    = { cpu = 0 }
  }
  during "weekend" {
    schedule = "0 12 * * sat"
    duration = "24h"
    weight   = 7
    disruption {
      budget {
        nodes = "1"
      }
    }
  }
}

buffer "spare" {
  namespace    = "default"
  pod_template = "pod"
  replicas     = 2
  during "office" {
    schedule  = "0 8 * * mon-fri"
    duration  = "9h"
    time_zone = "Europe/Berlin"
    replicas  = 5
  }
}
`

func newClocked(t *testing.T, now time.Time) *clocked {
	c := &clocked{world: newWorld(t), now: now, events: kuberecorder.NewFakeRecorder(10_000)}
	c.worker.Now = func() time.Time { return c.now }
	c.worker.Sources = c
	c.np = c.plan("fleet", "a", "fleet")
	c.np.Spec.Interval.Duration = 240 * time.Hour
	c.control = &Reconciler{Worker: c.worker, EventRecorder: c.events}
	c.push(settings)
	return c
}

func (c *clocked) push(text string) {
	c.commit(map[string]string{"a": pools("default") + text})
}

// Find implements Sources.
func (c *clocked) Find(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (sourceArtifact, error) {
	if c.down {
		return sourceArtifact{}, errors.New("the source does not answer")
	}
	if c.found != nil {
		c.found()
	}
	return c.world.Find(ctx, np)
}

// pass reconciles, and returns when the next reconciliation is due.
func (c *clocked) pass() time.Time {
	c.t.Helper()
	result, err := c.control.reconcile(c.t.Context(), c.np, c.record(c.np))
	if err != nil {
		c.t.Fatal(err)
	}
	return c.now.Add(result.RequeueAfter)
}

// switches are the messages of events about switches since the last call.
func (c *clocked) switches() (messages []string) {
	for {
		select {
		case text := <-c.events.Events:
			if strings.Contains(text, "SettingsSwitch") {
				messages = append(messages, text)
			}
		default:
			return messages
		}
	}
}

func (c *clocked) live(kind, namespace, name string) map[string]any {
	return c.objects[manifest.Key{Kind: kind, Namespace: namespace, Name: name}]
}

func (c *clocked) cpu() string {
	return manifest.Text(c.live("NodePool", "", "web"), "spec", "limits", "cpu")
}

// forms are the values of the objects that during blocks set: in the cluster, and wanted now.
func (c *clocked) forms() (is, want string) {
	c.t.Helper()
	for _, live := range []map[string]any{c.live("NodePool", "", "web"), c.live("CapacityBuffer", "default", "spare")} {
		due, _, err := during.At(live, c.now)
		if err != nil {
			c.t.Fatal(err)
		}
		is += fmt.Sprintln(live["spec"])
		want += fmt.Sprintln(due["spec"])
	}
	return is, want
}

// TestFortnightOfSwitches: over a change of the clocks and an outage, the values are always those of now after a
// reconciliation, each switch is applied once, and no node is replaced.
func TestFortnightOfSwitches(t *testing.T) {
	c := newClocked(t, time.Date(2026, 10, 19, 10, 30, 0, 0, time.UTC)) // clocks change on 25 October
	end, outage := c.now.AddDate(0, 0, 14), time.Date(2026, 10, 28, 5, 0, 0, 0, time.UTC)
	next := c.pass()
	hash, err := plan.TemplateHash(c.live("NodePool", "", "web"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.switches(); len(got) > 0 {
		t.Fatalf("the first apply sets the values of now, and then switches %v", got)
	}
	state := func() string {
		var active []string
		for _, s := range c.np.Status.Settings {
			active = append(active, s.Object+fmt.Sprint(s.Active))
		}
		return fmt.Sprint(active)
	}
	was, written, switched, wasForm := state(), c.written, 0, ""
	for c.now.Before(end) {
		if !next.After(c.now) || next.Sub(c.now) > 80*time.Hour {
			t.Fatalf("at %s it is reconciled again at %s", c.now, next)
		}
		c.now = next
		if c.now.After(outage) && c.now.Before(outage.Add(28*time.Hour)) { // over more than three switches
			c.now = outage.Add(28 * time.Hour)
		}
		before, _ := c.forms()
		next = c.pass()
		is, want := c.forms()
		if is != want {
			t.Fatalf("at %s the values are\n%s, want\n%s", c.now, is, want)
		}
		if got, err := plan.TemplateHash(c.live("NodePool", "", "web")); err != nil || got != hash {
			t.Fatalf("at %s nodes are replaced: %v", c.now, err)
		}
		events, changed := c.switches(), before != is
		if changed != (len(events) > 0) || c.written-written != len(events) {
			t.Fatalf("at %s: %d writes, events %v; %s, then %s", c.now, c.written-written, events, was, state())
		}
		if wasForm == is && len(events) > 0 {
			t.Fatalf("at %s nothing changes, and events are %v", c.now, events)
		}
		written, was, switched, wasForm = c.written, state(), switched+len(events), is
		if reason := c.np.Status.History[0].Status; reason != lkeplanv1alpha1.ReasonSucceeded {
			t.Fatalf("at %s: %s", c.now, reason)
		}
		if again := c.pass(); len(c.switches()) > 0 || c.written != written || !again.Equal(next) {
			t.Fatalf("at %s a second reconciliation changes something", c.now)
		}
	}
	// The pool: 10 nights and 2 weekends, start and end. The buffer: 10 days. Of the outage, which hides one start and one
	// end of each, each object catches up at most once.
	if switched < 36 || switched > 44 {
		t.Errorf("%d switches", switched)
	}
}

func TestSwitchNeedsNoRevision(t *testing.T) {
	evening := time.Date(2026, 11, 23, 18, 59, 0, 0, time.UTC) // 19:59 in Berlin, on a Monday
	tests := map[string]func(c *clocked){
		"the source is down":            func(c *clocked) { c.down = true },
		"the revision does not compile": func(c *clocked) { c.push("pool {") },
		"a guard refuses the revision": func(c *clocked) {
			c.push(strings.Replace(settings, "pool \"web\"", "pool \"other\"", 1))
		},
		"the controller starts again": func(c *clocked) { c.worker.Memory = nil },
	}
	for name, break_ := range tests {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, evening)
			if c.pass(); c.cpu() != "400" {
				t.Fatalf("by day cpu is %s", c.cpu())
			}
			if name == "a guard refuses the revision" { // with the guards of what was last applied
				c.push(settings + "\n")
				c.commits[len(c.commits)-1]["a/main.lke.hcl"] = strings.Replace(c.commits[0]["a/main.lke.hcl"],
					"max_deleted_pools = 100",
					"max_deleted_pools = 0", 1)
				c.pass()
			}
			break_(c)
			if next := c.pass(); !next.Equal(evening.Add(time.Minute)) && !c.down {
				t.Errorf("it is reconciled again at %s", next)
			}
			c.switches()
			c.now = evening.Add(time.Minute)
			c.pass()
			if c.cpu() != "0" {
				t.Errorf("at night cpu is %s: %v", c.cpu(), c.np.Status.Conditions)
			}
			if got := c.switches(); len(got) != 1 ||
				!strings.Contains(got[0], "Normal SettingsSwitched NodePool web: limits.cpu 400 → 0: during night, until "+
					"Tue 24 Nov 05:00 UTC") {
				t.Errorf("events: %v", got)
			}
		})
	}
}

// TestBlockThatStartsDuringAnApplyIsReported: the apply sets the values, and no switch is left. A field that the revision
// itself changes is reported with its new value.
func TestBlockThatStartsDuringAnApplyIsReported(t *testing.T) {
	evening := time.Date(2026, 11, 23, 18, 59, 0, 0, time.UTC) // 19:59 in Berlin, on a Monday
	for name, tt := range map[string]struct {
		old, new string // of the revision that is applied then
		cpu      string
		want     string
	}{
		"another field changes": {"cpu = 4 }", "cpu = 8 }", "0", "NodePool web: limits.cpu 400 → 0: during night, until Tue 24 Nov 05:00 UTC"},
		"the block changes":     {"limits    = { cpu = 0 }", "limits    = { cpu = 5 }", "5", "NodePool web: limits.cpu 400 → 5: during night, until Tue 24 Nov 05:00 UTC"},
		"the block is removed":  {settings[strings.Index(settings, "  during \"night\""):strings.Index(settings, "  during \"weekend\"")], "", "400", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClocked(t, evening)
			c.pass()
			c.switches()
			c.push(strings.Replace(settings, tt.old, tt.new, 1))
			c.found = func() { c.now = evening.Add(time.Minute) }
			written := c.written
			if c.pass(); c.cpu() != tt.cpu || c.written-written != 1 {
				t.Fatalf("cpu is %s after %d writes: %v", c.cpu(), c.written-written, c.np.Status.Conditions)
			}
			var want []string
			if tt.want != "" {
				want = []string{"Normal SettingsSwitched " + tt.want}
			}
			got := c.switches()
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], "map[")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if c.pass(); len(c.switches()) > 0 {
				t.Error("it is reported again")
			}
		})
	}
}

// TestBrokenBlocksAreRepairedOnce: another user has made the annotation of a pool unreadable. The switch before the next
// apply fails, and the one after it does not.
func TestBrokenBlocksAreRepairedOnce(t *testing.T) {
	c := newClocked(t, time.Date(2026, 11, 23, 18, 59, 0, 0, time.UTC))
	c.pass()
	c.switches()
	web := manifest.Key{Kind: "NodePool", Name: "web"}
	c.objects[web] = manifest.Annotated(c.objects[web], manifest.AnnotationDuring, "{")
	c.push(strings.Replace(settings, "cpu = 4 }", "cpu = 8 }", 1))
	c.pass()
	if got := c.switches(); len(got) != 1 || !strings.Contains(got[0], "SettingsSwitchFailed") {
		t.Errorf("events: %q", got)
	}
	for _, s := range c.np.Status.Settings {
		if s.Message != "" {
			t.Errorf("%s: %s", s.Object, s.Message)
		}
	}
}

func TestSwitchIsRetriedAfterFailure(t *testing.T) {
	c := newClocked(t, time.Date(2026, 11, 23, 18, 59, 0, 0, time.UTC))
	c.pass()
	c.now = c.now.Add(time.Minute)
	c.down, c.writes, c.ends = true, 0, 1 // the API server refuses writes
	next := c.pass()
	if got := c.switches(); c.cpu() != "400" || len(got) == 0 || !strings.Contains(got[0],
		"Warning SettingsSwitchFailed NodePool web keeps its values") {
		t.Fatalf("cpu is %s, events %v", c.cpu(), got)
	}
	if next.Sub(c.now) > retryInterval {
		t.Errorf("it is retried at %s", next)
	}
	c.ends, c.now = 0, next
	if c.pass(); c.cpu() != "0" || c.np.Status.Settings[1].Message != "" {
		t.Errorf("cpu is %s, status %v", c.cpu(), c.np.Status.Settings)
	}
}

func TestClockThatJumpsBackSwitchesBack(t *testing.T) {
	c := newClocked(t, time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC))
	if c.pass(); c.cpu() != "0" {
		t.Fatalf("at night cpu is %s", c.cpu())
	}
	c.now = c.now.Add(-3 * time.Hour)
	if next := c.pass(); c.cpu() != "400" || !next.Equal(time.Date(2026, 11, 23, 19, 0, 0, 0, time.UTC)) {
		t.Errorf("before the night cpu is %s, next %s", c.cpu(), next)
	}
}

func TestSuspendedAndPlanOnlyDoNotSwitch(t *testing.T) {
	c := newClocked(t, time.Date(2026, 11, 23, 18, 59, 0, 0, time.UTC))
	c.pass()
	c.np.Spec.Mode = lkeplanv1alpha1.ModePlanOnly
	c.now = c.now.Add(time.Hour)
	if c.pass(); c.cpu() != "400" || c.np.Status.NextSwitch != nil {
		t.Errorf("in the mode PlanOnly cpu is %s, next switch %v", c.cpu(), c.np.Status.NextSwitch)
	}
}

// TestManualEditIsNoSwitch: an edit is reverted to the value of now, even if it is a value of another time; while the
// revision cannot be applied, it stays.
func TestManualEditIsNoSwitch(t *testing.T) {
	night := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	for _, edit := range []string{"400", "100"} {
		c := newClocked(t, night)
		c.pass()
		edited := func() map[string]any {
			live := manifest.WithField(c.live("NodePool", "", "web"), "spec.limits", map[string]any{"cpu": edit}, true)
			return ownedBy(t, live, "kubectl-edit")
		}
		c.put(edited())
		c.down = true
		if c.pass(); c.cpu() != edit {
			t.Errorf("without a source, the edit to %s becomes %s", edit, c.cpu())
		}
		c.down = false
		c.pass()
		if c.cpu() != "0" {
			t.Errorf("the edit to %s becomes %s", edit, c.cpu())
		}
		if got := c.switches(); len(got) > 0 {
			t.Errorf("the edit is called a switch: %v", got)
		}
	}
}

// ownedBy is an object of which another manager owns spec.limits.
func ownedBy(t *testing.T, live map[string]any, manager string) map[string]any {
	t.Helper()
	metadata := map[string]any{}
	for key, value := range manifest.Map(live, "metadata") {
		metadata[key] = value
	}
	var entries []any
	for _, e := range metadata["managedFields"].([]any) {
		entry := e.(map[string]any)
		fields := manifest.Map(entry, "fieldsV1")
		without := manifest.WithField(map[string]any{"f": fields["f:spec"]}, "f.f:limits", nil, false)
		entry = manifest.WithField(entry, "fieldsV1.f:spec", without["f"], true)
		entries = append(entries, entry)
	}
	metadata["managedFields"] = append(entries, map[string]any{
		"manager": manager, "operation": "Update", "apiVersion": "karpenter.sh/v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:limits": map[string]any{"f:cpu": map[string]any{}}}},
	})
	return manifest.WithField(live, "metadata", metadata, true)
}

// TestRemovedBlockEnds: without its block, the object has the values that it had outside of all blocks.
func TestRemovedBlockEnds(t *testing.T) {
	c := newClocked(t, time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC))
	c.pass()
	start, stop := strings.Index(settings, "  during \"night\""), strings.Index(settings, "  during \"weekend\"")
	c.push(settings[:start] + settings[stop:])
	if c.pass(); c.cpu() != "400" {
		t.Errorf("cpu is %s", c.cpu())
	}
	c.push(settings)
	if c.pass(); c.cpu() != "0" {
		t.Errorf("declared again, cpu is %s", c.cpu())
	}
	if diff := cmp.Diff([]string{"night"}, c.np.Status.Settings[slices.IndexFunc(c.np.Status.Settings,
		func(s lkeplanv1alpha1.SettingsStatus) bool { return s.Object == "NodePool web" })].Active); diff != "" {
		t.Error(diff)
	}
}

// TestBuffersThatCannotBeListedAreReported: a NodePlan that has applied a buffer does not take it for one without
// during blocks.
func TestBuffersThatCannotBeListedAreReported(t *testing.T) {
	c := newClocked(t, time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC))
	c.pass()
	forbidden := unlisted{c.world, "CapacityBuffer"}
	c.worker.Connect = func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return forbidden, nil }
	before := c.np.Status.NextSwitch
	events, _ := c.worker.switchSettings(t.Context(), c.np, nil)
	if len(events) != 1 || events[0].reason != lkeplanv1alpha1.ReasonSwitchFailed ||
		!c.np.Status.NextSwitch.Equal(before) {
		t.Errorf("events %v, next switch %v, not %v", events, c.np.Status.NextSwitch, before)
	}
	c.np.Status.Inventory = slices.DeleteFunc(c.np.Status.Inventory, func(e lkeplanv1alpha1.InventoryEntry) bool {
		return strings.HasSuffix(e.ID, "_CapacityBuffer")
	})
	if events, _ = c.worker.switchSettings(t.Context(), c.np, nil); len(events) != 0 {
		t.Errorf("without a buffer: %v", events)
	}
}

// unlisted is a cluster in which the account may not list one kind.
type unlisted struct {
	*world
	kind string
}

func (u unlisted) ListLabelled(ctx context.Context, apiVersion, kind, label, value string) ([]map[string]any, error) {
	if kind == u.kind {
		return nil, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no binding"))
	}
	return u.world.ListLabelled(ctx, apiVersion, kind, label, value)
}

// versioned is a cluster that refuses an apply to another version of an object than the current one, as an API server
// does.
type versioned struct {
	*world
	mu       sync.Mutex // lists and applies make several calls at a time
	versions map[manifest.Key]int
	before   func() // called once, before the first apply
	lists    map[string]int
}

func (v *versioned) with(obj map[string]any) map[string]any {
	if obj == nil {
		return nil
	}
	v.mu.Lock()
	version := fmt.Sprint(1 + v.versions[manifest.KeyOf(obj)])
	v.mu.Unlock()
	return manifest.WithField(obj, "metadata.resourceVersion", version, true)
}

func (v *versioned) ListLabelled(ctx context.Context, apiVersion, kind, label, value string) ([]map[string]any, error) {
	v.mu.Lock()
	v.lists[kind]++
	v.mu.Unlock()
	all, err := v.world.ListLabelled(ctx, apiVersion, kind, label, value)
	for i := range all {
		all[i] = v.with(all[i])
	}
	return all, err
}

func (v *versioned) Get(ctx context.Context, like map[string]any) (map[string]any, error) {
	live, err := v.world.Get(ctx, like)
	return v.with(live), err
}

func (v *versioned) Apply(ctx context.Context, desired, live map[string]any) (kube.Outcome, error) {
	v.mu.Lock()
	before := v.before
	v.before = nil
	v.mu.Unlock()
	if before != nil {
		before()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	key := manifest.KeyOf(desired)
	if version := manifest.Text(desired, "metadata", "resourceVersion"); version != "" &&
		version != fmt.Sprint(1+v.versions[key]) {
		return "", kube.ErrChanged
	}
	v.versions[key]++
	return v.world.Apply(ctx, manifest.WithField(desired, "metadata.resourceVersion", nil, false), live)
}

// TestTwoLeadersSwitchOnce: a leader that another one overtakes between its list and its apply writes nothing, and
// sends no event. If a user has edited the value in between, no leader overwrites it.
func TestTwoLeadersSwitchOnce(t *testing.T) {
	evening := time.Date(2026, 11, 23, 18, 59, 0, 0, time.UTC)
	start := func(t *testing.T) (*clocked, *versioned, func() []notice) {
		c := newClocked(t, evening)
		c.pass()
		c.now = evening.Add(time.Minute)
		v := &versioned{world: c.world, versions: map[manifest.Key]int{}, lists: map[string]int{}}
		c.worker.Connect = func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return v, nil }
		return c, v, func() []notice {
			events, _ := c.worker.switchSettings(t.Context(), c.np.DeepCopy(), nil)
			return events
		}
	}
	t.Run("another leader switches", func(t *testing.T) {
		c, v, leader := start(t)
		written := c.written
		var first []notice
		v.before = func() { first = leader() }
		second := leader()
		if len(first) != 1 || len(second) != 0 || c.written != written+1 || c.cpu() != "0" {
			t.Errorf("events %v and %v, %d writes, cpu is %s", first, second, c.written-written, c.cpu())
		}
	})
	t.Run("a user edits", func(t *testing.T) {
		c, v, leader := start(t)
		written := c.written
		v.before = func() {
			c.put(ownedBy(t, manifest.WithField(c.live("NodePool", "", "web"), "spec.limits",
				map[string]any{"cpu": "100"}, true),
				"kubectl-edit"))
			v.versions[manifest.Key{Kind: "NodePool", Name: "web"}]++
		}
		if events := leader(); len(events) != 0 || c.written != written || c.cpu() != "100" {
			t.Errorf("events %v, %d writes, cpu is %s", events, c.written-written, c.cpu())
		}
	})
	t.Run("another controller writes all the time", func(t *testing.T) {
		c, v, leader := start(t)
		var race func()
		race = func() {
			v.versions[manifest.Key{Kind: "NodePool", Name: "web"}]++
			v.before = race
		}
		v.before = race
		events := leader()
		if len(events) != 1 || events[0].reason != lkeplanv1alpha1.ReasonSwitchFailed || c.cpu() != "400" {
			t.Errorf("events %v, cpu is %s", events, c.cpu())
		}
	})
}

// TestUnchangedObjectsAreListedOnce: a reconciliation that applies nothing does not list the objects with during blocks
// again after it has switched them. One that reverts an edit does.
func TestUnchangedObjectsAreListedOnce(t *testing.T) {
	c := newClocked(t, time.Date(2026, 11, 23, 18, 59, 0, 0, time.UTC))
	v := &versioned{world: c.world, versions: map[manifest.Key]int{}, lists: map[string]int{}}
	c.worker.Memory = &appliedMemory{}
	c.worker.Connect = func(*lkeplanv1alpha1.NodePlan) (Cluster, error) { return v, nil }
	c.pass()
	c.pass()
	switching := func() int { // lists in addition to those of the comparison, which lists classes as often
		clear(v.lists)
		c.pass()
		return v.lists["NodePool"] - v.lists["LinodeNodeClass"]
	}
	if n := switching(); n != 1 {
		t.Errorf("nothing has changed, and pools are listed %d times to switch them", n)
	}
	live := c.live("NodePool", "", "web")
	c.put(ownedBy(t, manifest.WithField(live, "spec.limits", map[string]any{"cpu": "7"}, true), "kubectl-edit"))
	if n := switching(); n != 2 || c.cpu() != "400" {
		t.Errorf("an edit is reverted to %s, and pools are listed %d times to switch them", c.cpu(), n)
	}
}
