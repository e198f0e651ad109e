package instance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

// renamed is an account whose list lacks the one Linode that it has.
type renamed struct {
	*listing
	one api.Instance
	err error
}

func (r renamed) Instance(context.Context, int) (api.Instance, error) { return r.one, r.err }

// TestRenamedLinodeIsFound: Karpenter skips the drain of a node whose machine is gone, and
// its pods would run twice.
func TestRenamedLinodeIsFound(t *testing.T) {
	id := Identity{Name: "prod", uid: "u"}
	ours := api.Instance{ID: 7, Label: id.Node("uid-a"), Tags: []string{id.Tag()}}
	other, untagged, neither := ours, ours, ours
	other.Label, untagged.Tags, neither.Label, neither.Tags = "my-favourite", nil, "my-favourite", nil
	for name, tt := range map[string]struct {
		account renamed
		there   bool
		err     string
	}{
		"as it was made":         {renamed{one: ours}, true, ""},
		"with another label":     {renamed{one: other}, true, ""},
		"without its tag":        {renamed{one: untagged}, true, ""},
		"with neither":           {renamed{one: neither}, false, "neither the tag"},
		"gone":                   {renamed{err: &api.Error{Status: 404, Reasons: []api.Reason{{Reason: "Not found"}}}}, false, ""},
		"Linode does not answer": {renamed{err: errors.New("no answer")}, false, "no answer"},
	} {
		i, _ := countingIn(t, &listing{})
		tt.account.listing = &listing{}
		i.cfg.API = tt.account
		found, err := i.getLinode(t.Context(), 7)
		if (found != nil) != tt.there || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// refusing is an account that answers so to what is asked about its one Linode.
type refusing struct {
	*listing
	one         api.Instance
	get, delete error
}

func (r refusing) Instance(context.Context, int) (api.Instance, error) { return r.one, r.get }
func (r refusing) DeleteInstance(context.Context, int) error           { return r.delete }

// TestUndeletedLinodeIsReported in an event, once for each reason, in a condition and in a metric, for each refusal.
// One without a NodeClaim is counted.
func TestUndeletedLinodeIsReported(t *testing.T) {
	id := Identity{Name: "prod", uid: "u"}
	ours := api.Instance{ID: 7, Type: "g6-standard-4", Label: id.Node("uid-a"), Tags: []string{id.Tag()}}
	renamed, untagged, neither := ours, ours, ours
	renamed.Label, untagged.Tags, neither.Label, neither.Tags = "my-favourite", nil, "my-favourite", []string{"x"}
	huge := calmAnswer(400, strings.Repeat("no ", 1000), "")
	for name, tt := range map[string]struct {
		account refusing
		reason  string // of the metric; "" if nothing is refused
		says    string
	}{
		"it goes":                        {refusing{one: ours}, "", ""},
		"it goes with another label":     {refusing{one: renamed}, "", ""},
		"it goes without its tag":        {refusing{one: untagged}, "", ""},
		"it is gone":                     {refusing{get: calmAnswer(404, "Not found", "")}, "", ""},
		"it has neither of its marks":    {refusing{one: neither}, "changed", "give it the label prod-"},
		"it is locked":                   {refusing{one: ours, delete: calmAnswer(400, "This Linode is locked.", "")}, "locked", "is locked"},
		"it is busy":                     {refusing{one: ours, delete: calmAnswer(429, "Linode busy.", "")}, "busy", "Linode busy"},
		"the token lacks the scope":      {refusing{one: ours, delete: calmAnswer(403, "Unauthorized", "")}, "auth", "Unauthorized"},
		"the token may not even look":    {refusing{get: calmAnswer(401, "Invalid Token", "")}, "auth", "Invalid Token"},
		"it is refused for what it is":   {refusing{one: ours, delete: calmAnswer(400, "Not like this.", "")}, "validation", "Not like this"},
		"Linode fails":                   {refusing{one: ours, delete: calmAnswer(500, "Oops", "")}, "unknown", "Oops"},
		"Linode does not answer":         {refusing{one: ours, delete: errSilence}, "unknown", "no answer"},
		"Linode answers with a megabyte": {refusing{one: ours, delete: huge}, "validation", "delete Linode 7"},
	} {
		t.Run(name, func(t *testing.T) {
			nc := ordered("uid-a", "g6-standard-4", 7, time.Now())
			nc.Finalizers = []string{"karpenter.sh/termination"}
			i, counted := countingIn(t, &listing{all: []api.Instance{ours}}, nc)
			if err := i.cfg.Client.Delete(t.Context(), nc); err != nil {
				t.Fatal(err)
			}
			tt.account.listing = &listing{}
			i.syncer.cfg.Linode = tt.account
			order := decide.Delete{UID: "uid-a", Machine: 7, Label: ours.Label}
			for range 3 {
				i.syncer.delete(t.Context(), order)
			}
			said := i.cfg.Events.(*events.FakeRecorder).Events
			if err := i.cfg.Client.Get(t.Context(), client.ObjectKeyFromObject(nc), nc); err != nil {
				t.Fatal(err)
			}
			is := nc.StatusConditions(status.WithObservedOnly()).Get(nodeclaim.ConditionMachineDeleted)
			if tt.reason == "" {
				if len(said) > 0 || is != nil {
					t.Errorf("%d events, condition %v", len(said), is)
				}
				return
			}
			if len(said) != 1 {
				t.Fatalf("%d events", len(said))
			}
			event := <-said
			if !strings.HasPrefix(event, "Warning MachineNotDeleted delete Linode 7") || !strings.Contains(event, tt.says) || len(event) > 1024+len("Warning MachineNotDeleted ") {
				t.Errorf("the event is %s", event)
			}
			if !is.IsFalse() || is.Reason != "MachineNotDeleted" || !strings.Contains(event, is.Message) || is.LastTransitionTime.IsZero() {
				t.Errorf("the condition is %+v", is)
			}
			nc.Finalizers = nil
			if err := i.cfg.Client.Update(t.Context(), nc); err != nil {
				t.Fatal(err)
			}
			order.UID = "" // nothing has it any more
			i.syncer.delete(t.Context(), order)
			if got := counted()["lkeplan_delete_refusals_total "+tt.reason]; got != 4 {
				t.Errorf("counted %v", got)
			}
		})
	}
}
