package instance

import (
	"testing"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
)

// TestMachineIsGoneOnlyIfLinodeConfirms, by its id or its label: no answer says nothing.
func TestMachineIsGoneOnlyIfLinodeConfirms(t *testing.T) {
	ours := api.Instance{ID: 7, Label: "prod-a", Tags: []string{tag}}
	theirs := api.Instance{ID: 8, Label: "prod-a", Tags: []string{tag + "-2"}}
	byID, byLabel := decide.Look{UID: "a", Machine: 7}, decide.Look{UID: "a", Label: "prod-a"}
	failing := func(call string, err error) canned { return canned{err: map[string]error{call: err}} }
	for _, tc := range []struct {
		name         string
		api          canned
		look         decide.Look
		there, known bool
	}{
		{"it is there", canned{one: ours}, byID, true, true},
		{"it is not", failing("get", calmAnswer(404, "Not found", "")), byID, false, true},
		{"no answer", failing("get", errSilence), byID, false, false},
		{"another account's token", failing("get", calmAnswer(401, "Invalid Token", "")), byID, false, false},
		{"a server's failure", failing("get", calmAnswer(500, "Internal Server Error", "")), byID, false, false},
		{"it has the label", canned{found: ours}, byLabel, true, true},
		{"another cluster's has the label", canned{found: theirs}, byLabel, false, true},
		{"nothing has the label", canned{}, byLabel, false, true},
		{"no answer about the label", failing("find", errSilence), byLabel, false, false},
	} {
		if there, known := tc.api.syncer().machineExists(t.Context(), tc.look); there != tc.there || known != tc.known {
			t.Errorf("%s: there: %v, known: %v", tc.name, there, known)
		}
	}
}
