package instance

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
)

// renamed is an account whose list lacks the one Linode that it has.
type renamed struct {
	*listing
	one api.Instance
	err error
}

func (r renamed) Instance(context.Context, int) (api.Instance, error) { return r.one, r.err }

// TestALinodeThatWasRenamedIsThere: Karpenter skips the drain of a node whose machine is gone, and
// its pods would run twice.
func TestALinodeThatWasRenamedIsThere(t *testing.T) {
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
		found, err := i.there(t.Context(), 7)
		if (found != nil) != tt.there || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// TestALinodeThatIsNotDeletedIsAnEvent on its NodeClaim, once for each reason.
func TestALinodeThatIsNotDeletedIsAnEvent(t *testing.T) {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid-a"}}
	i, _ := countingIn(t, &listing{}, claim)
	for range 3 {
		cluster{i}.Undeleted(t.Context(), "uid-a", errors.New("Linode 7 is locked"))
	}
	cluster{i}.Undeleted(t.Context(), "uid-a", errors.New("Linode 7 has another label"))
	got := i.cfg.Events.(*events.FakeRecorder).Events
	if len(got) != 2 || !strings.Contains(<-got, "MachineNotDeleted Linode 7 is locked") {
		t.Errorf("%d events", len(got))
	}
}
