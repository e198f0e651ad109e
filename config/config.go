// Package config compiles a directory of HCL into Kubernetes objects. It is pure: its inputs are
// files and the values of variables, its outputs are objects and diagnostics. It reads no
// environment, no clock and no network, so the same commit always compiles to the same objects.
//
// Another package checks with the CRDs whether Kubernetes accepts an object. Each field records its
// place in the source, so the errors of the CRDs can be shown at the right line.
package config

import (
	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An Object is one Kubernetes object of a configuration, from compilation to apply. Saved plans and
// compilations in child processes contain its JSON.
type Object struct {
	Addr   Addr `json:"addr"`
	Before Addr `json:"before"` // the address before moved blocks; equal to Addr if the object did not move
	// Manifest is the object as written in the configuration, in JSON form, with whole numbers as
	// int64. It shares maps and lists with Defaulted, so code that changes an object copies it
	// first.
	Manifest map[string]any `json:"manifest"`
	// Defaulted is the object as the API server would store it, or the live object with its managed
	// fields if that is compared. This package leaves it nil, because the CRDs contain the
	// defaults.
	Defaulted map[string]any `json:"defaulted"`
	// Origins are the places of its fields in the source; nil if the source is not available.
	Origins decode.Origins `json:"-"`
}

// Key identifies the object in a cluster.
func (o Object) Key() manifest.Key { return manifest.KeyOf(o.Manifest) }

// APIVersion returns the group and version of the object's kind.
func (o Object) APIVersion() string { return manifest.APIVersion(o.Manifest) }

// Kind returns the Kubernetes kind of the object.
func (o Object) Kind() string { return manifest.Kind(o.Manifest) }

// Name returns the name of the object in the cluster.
func (o Object) Name() string { return manifest.Name(o.Manifest) }

// Namespace returns the namespace of the object; most kinds have none.
func (o Object) Namespace() string { return manifest.Namespace(o.Manifest) }

// A Cluster is the content of the cluster block.
type Cluster struct {
	Name   string
	ID     int64 // in LKE; 0 if not set
	Region string
	Tier   string // "standard" or "enterprise" of LKE, or schemas.ModeInstance
	// KubernetesVersion is the version of nodes whose class sets none; "" if nodes keep their
	// version. The classes in Compiled contain it.
	KubernetesVersion string
	// GPUPlans is whether nodes of LKE Enterprise can use GPU plans. The classes in Compiled
	// contain it.
	GPUPlans bool
}

// Instances reports whether the nodes of the cluster are separate Linodes that join a cluster that
// users operate.
func (c Cluster) Instances() bool { return c.Tier == schemas.ModeInstance }

// Compiled is the result of compiling a directory.
type Compiled struct {
	Cluster Cluster `json:"cluster"`
	// Directory is the name that the directory sets for itself; "" for none.
	Directory string    `json:"directory,omitempty"`
	Objects   []Object  `json:"resources"` // sorted by address
	Imports   []Import  `json:"imports"`   // objects to take over
	Removed   []Removal `json:"removed"`   // objects that are no longer declared
	Policies  []Policy  `json:"-"`         // rules for the next change, evaluated in their module
	Guards    Guards    `json:"guards"`    // limits for the next change
	Trial     *Trial    `json:"-"`         // the assertions of a test; nil without a test
}
