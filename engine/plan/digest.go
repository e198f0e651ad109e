package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Digest names what the plan does to objects, as sha256 and 64 hexadecimal
// digits: two plans with the same digest change the same fields of the same
// objects in the same way, and the nodes of the same pools are deleted, replaced, or
// stay. The number of nodes is not in it, because it changes all the time: an
// approval limits that number, and so stays valid for a plan that is computed again later.
func (p Plan) Digest() (string, error) {
	type field struct {
		Path          string
		Before, After any
	}
	type change struct {
		Kind, Namespace, Name, UID string
		Action                     Action
		Prune                      RemovalStage `json:",omitempty"`
		Effect                     Effect
		Fields                     []field
	}
	changes := make([]change, 0, len(p.Changes))
	for _, c := range p.Changes {
		if c.Action == Keep && gravity[c.Effect] < gravity[MayRemove] { // its block has moved
			continue
		}
		short := change{c.Kind, c.Namespace, c.Name, c.UID, c.Action, c.Prune, c.Effect, nil}
		for _, f := range c.Fields {
			short.Fields = append(short.Fields, field{f.Path, f.Before, f.After})
		}
		changes = append(changes, short)
	}
	raw, err := json.Marshal(changes)
	if err != nil {
		return "", fmt.Errorf("digest of the plan: %w", err)
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
