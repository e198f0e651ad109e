package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Addr is the address of one compiled object in its directory.
type Addr struct {
	Module string // the module it is in: module.team["ml"], or ""
	Type   string // the block type: "pool"
	Name   string // the block's label
	Key    string // the element of for_each, or ""
}

// String returns the address as an expression refers to the object:
// pool.team["ml"], module.ml.pool.gpu.
func (a Addr) String() string {
	s := step{a.Type, a.Name, a.Key}.String()
	if a.Module != "" {
		return a.Module + "." + s
	}
	return s
}

func compareAddr(a, b Addr) int {
	return cmp.Or(strings.Compare(a.Module, b.Module), strings.Compare(a.Type, b.Type),
		strings.Compare(a.Name, b.Name), strings.Compare(a.Key, b.Key))
}

// A trail is an address step by step: the modules on the way, then the object.
// A trail of modules alone is the address of a module.
type trail []step

// A step is one block of a trail, and one element of it under for_each.
type step struct {
	typ, name, key string
}

func (s step) String() string {
	if s.key == "" {
		return s.typ + "." + s.name
	}
	return fmt.Sprintf("%s.%s[%q]", s.typ, s.name, s.key)
}

func (t trail) String() string {
	var steps []string
	for _, s := range t {
		steps = append(steps, s.String())
	}
	return strings.Join(steps, ".")
}

// to returns the trail that is one step longer.
func (t trail) to(s step) trail { return append(slices.Clip(t), s) }

// objectName is the name in the cluster of the object at a trail, where its
// block gives it none: labels and keys joined by dashes, the modules' first.
// Labels are identifiers and names are DNS labels, so underscores become
// dashes.
func (t trail) objectName() string {
	var parts []string
	for _, s := range t {
		parts = append(parts, s.name)
		if s.key != "" {
			parts = append(parts, s.key)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "-"), "_", "-")
}

// addr is the address of the object at a trail.
func (t trail) addr() Addr {
	last := t[len(t)-1]
	return Addr{Module: t[:len(t)-1].String(), Type: last.typ, Name: last.name, Key: last.key}
}
