package manifest

import (
	"testing"
)

// TestARevisionIsNamedOnlyForWhatItHasMade: a note that is missing, stale, forged or cut names
// nobody.
func TestARevisionIsNamedOnlyForWhatItHasMade(t *testing.T) {
	made := map[string]string{"taints": "none"}
	by := RolledBy{NodePlan: "infra/prod", Name: "main@sha1:3f2a1c9"}
	note, err := RolledByNote(by, made)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		note  string
		part  any
		known bool
	}{
		"as it was made":          {note, made, true},
		"somebody has changed it": {note, map[string]string{"taints": "some"}, false},
		"no note":                 {"", made, false},
		"half a note":             {note[:len(note)-1], made, false},
		"a note of other words":   {"infra/prod " + note, made, false},
		"a note without a name":   {" " + note[len("infra/prod "):], made, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := ReadRolledBy(map[string]string{AnnotationRolledBy: test.note}, test.part)
			if known != test.known || known && got != by {
				t.Errorf("%+v, %v; want known: %v", got, known, test.known)
			}
		})
	}
	for _, unknown := range []RolledBy{{}, {Name: "main"}, {NodePlan: "a/b"}, {NodePlan: "a/b", Name: "two words"}} {
		if note, err := RolledByNote(unknown, made); note != "" || err != nil {
			t.Errorf("the note of %+v is %q, %v; want none", unknown, note, err)
		}
	}
}
