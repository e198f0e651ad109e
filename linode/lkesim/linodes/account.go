package linodes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Linode is a Linode of the account.
type Linode struct {
	ID             int
	Label          string
	Region         string
	Plan           catalog.Plan
	Image          string
	Tags           []string
	DiskEncryption string
	UserData       []byte // what it reads of the Metadata service
	HostUUID       string
	Created        time.Time
	Runs           time.Time // when it has booted
	Gone           time.Time // when it will be gone; zero: it stays
}

// Account holds the Linodes. Its caller holds a lock. The zero Account is empty.
type Account struct{ byID map[int]*Linode }

// Duplicate is the answer to a label that is taken.
//
// Unverified: the text, which is how users and Linode's own Cluster API provider quote it, and that a Linode holds its
// label until it is gone.
var Duplicate = Problem{Field: "label", Reason: "Label must be unique among your linodes"}

// Make makes a Linode from a checked spec. It says no where another has its label.
func (a *Account) Make(id int, spec Spec, sold *catalog.Catalog, created, runs time.Time) (*Linode, bool) {
	plan, _ := sold.Plan(spec.Type)
	l := &Linode{
		ID: id, Label: cmp.Or(spec.Label, fmt.Sprintf("linode%d", id)), Region: spec.Region, Plan: plan, Image: spec.Image,
		Tags: spec.tags(), DiskEncryption: spec.encryption(), UserData: spec.userData(), Created: created, Runs: runs,
	}
	if a.Labelled(l.Label) {
		return nil, false
	}
	if a.byID == nil {
		a.byID = map[int]*Linode{}
	}
	a.byID[id] = l
	return l, true
}

// Labelled says whether one of the Linodes has a label.
func (a *Account) Labelled(label string) bool {
	for _, l := range a.byID {
		if l.Label == label {
			return true
		}
	}
	return false
}

// Get returns the Linode of an id; nil where there is none.
func (a *Account) Get(id int) *Linode { return a.byID[id] }

// All returns the Linodes, by id.
func (a *Account) All() (all []*Linode) {
	for _, id := range slices.Sorted(maps.Keys(a.byID)) {
		all = append(all, a.byID[id])
	}
	return all
}

// Remove takes a Linode away at once.
func (a *Account) Remove(id int) { delete(a.byID, id) }

// Status goes from provisioning over booting to running. How long each of them lasts, and what a Linode says while it
// is deleted, is an assumption.
func (l *Linode) Status(now time.Time) string {
	switch {
	case !l.Gone.IsZero():
		return "deleting"
	case !l.Runs.After(now):
		return "running"
	case now.Sub(l.Created) < l.Runs.Sub(l.Created)/4:
		return "provisioning"
	default:
		return "booting"
	}
}
