package capacity

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
)

// Group is the identity of LKE node pools: everything that LKE gives to each node of a pool, and the NodePool that
// the pool is for. Slots of the same group are interchangeable; slots of different groups are not.
type Group struct {
	NodePool       string            `json:"nodePool"`
	Plan           string            `json:"plan"`
	Labels         map[string]string `json:"labels,omitempty"`
	Taints         []Taint           `json:"taints,omitempty"`
	DiskEncryption string            `json:"diskEncryption,omitempty"`
	FirewallID     int               `json:"firewallID,omitempty"`
	Version        string            `json:"version,omitempty"`
	Tags           []string          `json:"tags,omitempty"` // not part of the identity
	// InPlace are labels that change in place, with their current values; nil for a label that is removed. They are
	// not part of the identity, and are not stored. If a label started to change in place after the group was
	// created, Labels still has its old value.
	InPlace map[string]*string `json:"-"`
}

// Taint is a permanent taint of a group's nodes. Startup taints do not belong here:
// LKE keeps adding a pool's taints to its nodes.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// PoolLabels returns the labels that the pools of the group should have now.
func (g Group) PoolLabels() map[string]string {
	if len(g.InPlace) == 0 {
		return g.Labels
	}
	labels := map[string]string{}
	maps.Copy(labels, g.Labels)
	for key, value := range g.InPlace {
		delete(labels, key)
		if value != nil {
			labels[key] = *value
		}
	}
	return labels
}

// Key returns a digest of the identity, 16 hexadecimal digits. The order of taints does not matter, and tags do not
// count, because LKE changes them in place.
func (g Group) Key() string {
	g.Tags = nil
	g.Taints = sortedTaints(g.Taints)
	sum := sha256.Sum256([]byte(g.Encode()))
	return hex.EncodeToString(sum[:8])
}

// Encode writes the group as one line of JSON with its keys in a fixed order.
func (g Group) Encode() string {
	raw, err := json.Marshal(g)
	if err != nil {
		panic(fmt.Sprintf("encode group: %v", err)) // strings, numbers and maps of strings always encode
	}
	return string(raw)
}

// DecodeGroup reads what Encode wrote.
func DecodeGroup(s string) (Group, error) {
	var g Group
	if err := json.Unmarshal([]byte(s), &g); err != nil {
		return Group{}, fmt.Errorf("read group: %w", err)
	}
	if g.Plan == "" {
		return Group{}, fmt.Errorf("read group: no plan in %q", s)
	}
	return g, nil
}
