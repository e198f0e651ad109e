package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// AnnotationRolledBy is where the note stands.
const AnnotationRolledBy = "lkeplan.dev/rolled-by"

// RolledBy is a revision of a NodePlan. The zero RolledBy stands for one that is not known.
type RolledBy struct {
	NodePlan string // namespace/name
	Name     string // as the source has it: main@sha1:3f2a1c9...
}

// Known reports whether it names a revision.
func (r RolledBy) Known() bool { return r.NodePlan != "" && r.Name != "" }

// RolledByNote is the annotation for a revision that has made the part what it is. It is "" where the
// revision is not known, or cannot be written down.
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

// ReadRolledBy returns the revision that a note names, if the part is still what it has made.
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

// digest is of the part as JSON has it, long enough that no two parts of an object have the
// same.
func digest(part any) (string, error) {
	raw, err := json.Marshal(part)
	if err != nil {
		return "", fmt.Errorf("write what nodes are replaced for: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:12]), nil
}
