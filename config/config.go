// Package config compiles a directory of HCL into Kubernetes objects.
//
// It is pure: files and the values of variables come in, objects and
// diagnostics go out. It reads no environment, no clock and no network, so
// that the same commit always compiles to the same objects. Whether Kubernetes
// would accept an object is decided elsewhere, by the CRDs; each field carries
// its place in the source so that their complaints find their line.
package config

import (
	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An Object is one Kubernetes object of a configuration, from its compilation
// until it is applied. Its JSON is what saved plans and compilations in other
// processes hand on.
type Object struct {
	Addr   Addr `json:"addr"`
	Before Addr `json:"before"` // the address before moved blocks; Addr where it did not move
	// Manifest is the object as written, as JSON has it, whole numbers as int64. It shares
	// maps and lists with Defaulted: who changes an object makes a copy.
	Manifest map[string]any `json:"manifest"`
	// Defaulted is the object as the API server would store it, or as it is live
	// (with managed fields) where that is what is compared. This package leaves it
	// nil: the CRDs have the defaults.
	Defaulted map[string]any `json:"defaulted"`
	// Origins are the places of its fields in the source; nil where the source is
	// not at hand.
	Origins decode.Origins `json:"-"`
}

// Key says which object of a cluster it is.
func (o Object) Key() manifest.Key { return manifest.KeyOf(o.Manifest) }

// APIVersion returns the group and version of the object's kind.
func (o Object) APIVersion() string { return manifest.APIVersion(o.Manifest) }

// Kind returns the Kubernetes kind of the object.
func (o Object) Kind() string { return manifest.Kind(o.Manifest) }

// Name returns the name of the object in the cluster.
func (o Object) Name() string { return manifest.Name(o.Manifest) }

// Namespace returns the namespace of the object; most kinds have none.
func (o Object) Namespace() string { return manifest.Namespace(o.Manifest) }

// A Cluster is what the directory says about the cluster it is for.
type Cluster struct {
	Name   string
	ID     int64 // in LKE; 0 where the directory does not say
	Region string
	Tier   string // "standard" or "enterprise" of LKE, or schemas.ModeInstance
	// KubernetesVersion is the version of the nodes whose class names none; "" where
	// they keep what they have. The classes of Compiled have it.
	KubernetesVersion string
	// GPUPlans is whether nodes of LKE Enterprise are made of GPU plans. The classes of Compiled say so.
	GPUPlans bool
}

// Instances reports whether the cluster's machines are Linodes of their own, which join a
// cluster that its owners run.
func (c Cluster) Instances() bool { return c.Tier == schemas.ModeInstance }

// Compiled is what a directory compiles to.
type Compiled struct {
	Cluster Cluster `json:"cluster"`
	// Directory is the name that the directory gives itself; "" for none.
	Directory string    `json:"directory,omitempty"`
	Objects   []Object  `json:"resources"` // sorted by address
	Imports   []Import  `json:"imports"`   // objects that may be taken over
	Removed   []Removal `json:"removed"`   // objects that are no longer declared
	Policies  []Policy  `json:"-"`         // rules for the next change; they judge where they were compiled
	Guards    Guards    `json:"guards"`    // bounds for the next change
	Trial     *Trial    `json:"-"`         // what a test asserts; nil where none is tried
}
