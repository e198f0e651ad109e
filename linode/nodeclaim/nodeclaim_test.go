package nodeclaim

import (
	"testing"
)

func TestProviderIDs(t *testing.T) {
	for id, want := range map[string]int{
		"linode://97065433": 97065433, "linode://": 0, "linode://-4": 0, "linode:///97065433": 0,
		"lke-pending://8f1c": 0, "aws://97065433": 0,
	} {
		if got := InstanceOf(id); got != want {
			t.Errorf("InstanceOf(%q) = %d, want %d", id, got, want)
		}
	}
	if uid, pending := UIDOf(PendingID("8f1c")); uid != "8f1c" || !pending {
		t.Errorf("UIDOf = %q, %v", uid, pending)
	}
}
