package manifest

import (
	"testing"
)

// TestRolledByNamesOnlyRevisionOfUnchangedPart: a missing, stale, forged or truncated annotation
// names no revision.
func TestRolledByNamesOnlyRevisionOfUnchangedPart(t *testing.T) {
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
		"unchanged":      {note, made, true},
		"changed since":  {note, map[string]string{"taints": "some"}, false},
		"no annotation":  {"", made, false},
		"truncated":      {note[:len(note)-1], made, false},
		"another text":   {"infra/prod " + note, made, false},
		"without a name": {" " + note[len("infra/prod "):], made, false},
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
			t.Errorf("the annotation of %+v is %q, %v; want none", unknown, note, err)
		}
	}
}
