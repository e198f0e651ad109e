package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// AnnotationRolledBy is the key of the annotation.
const AnnotationRolledBy = "lkeplan.dev/rolled-by"

// RolledBy is a revision of a NodePlan. The zero value is an unknown revision.
type RolledBy struct {
	NodePlan string // namespace/name
	Name     string // in the form of the source: main@sha1:3f2a1c9...
}

// Known reports whether r names a revision.
func (r RolledBy) Known() bool { return r.NodePlan != "" && r.Name != "" }

// RolledByNote returns the annotation for the revision that last changed a part of an object. It is
// "" if the revision is not known or cannot be written.
func RolledByNote(r RolledBy, part any) (string, error) {
	if !r.Known() || strings.ContainsAny(r.NodePlan+r.Name, " \t\r\n") {
		return "", nil
	}
	sum, err := digest(part)
	if err != nil {
		return "", err
	}
	return strings.Join([]string{r.NodePlan, r.Name, sum}, " "), nil
}

// ReadRolledBy returns the revision that an annotation names, if the part has not changed since.
func ReadRolledBy(annotations map[string]string, part any) (r RolledBy, known bool) {
	fields := strings.Split(annotations[AnnotationRolledBy], " ")
	if len(fields) != 3 {
		return r, false
	}
	if sum, err := digest(part); err != nil || sum != fields[2] {
		return r, false
	}
	r = RolledBy{NodePlan: fields[0], Name: fields[1]}
	return r, r.Known()
}

// digest returns a digest of the part's JSON, long enough that no two parts of an object have the
// same.
func digest(part any) (string, error) {
	raw, err := json.Marshal(part)
	if err != nil {
		return "", fmt.Errorf("write the reason for replacing nodes: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:12]), nil
}
