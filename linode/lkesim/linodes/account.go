package linodes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lkesim/kubelet"
)

// Linode is a Linode of the account, with all that was asked for.
type Linode struct {
	ID             int          `json:"id"`
	Label          string       `json:"label"`
	Region         string       `json:"region"`
	Plan           catalog.Plan `json:"-"`
	Type           string       `json:"type"`
	Image          string       `json:"image,omitempty"`
	Tags           []string     `json:"tags"`
	DiskEncryption string       `json:"disk_encryption"`
	UserData       []byte       `json:"user_data,omitempty"` // what it reads of the Metadata service
	HostUUID       string       `json:"host_uuid"`
	Created        time.Time    `json:"created"`
	Runs           time.Time    `json:"runs"` // when it has booted
	Gone           time.Time    `json:"gone"` // when it will be gone; zero: it stays
	// Off says that nothing has been booted, Stuck that it never gets through, and Idle that nothing starts that joins.
	Off   bool `json:"off,omitempty"`
	Stuck bool `json:"stuck,omitempty"`
	Idle  bool `json:"idle,omitempty"`

	// Join is how far it has come on its way into a cluster, and Restarts how often its kubelet was started again.
	Join     kubelet.Status `json:"join"`
	Restarts int            `json:"restarts,omitempty"`
	// ForgetsKey and PosesAs are what goes wrong on the way.
	ForgetsKey bool   `json:"forgets_key,omitempty"`
	PosesAs    string `json:"poses_as,omitempty"`
	// CCM is how long the cloud controller takes to complete its Node.
	CCM time.Duration `json:"-"`
}

// Account holds the Linodes. Its caller holds a lock. The zero Account is empty.
type Account struct {
	byID map[int]*Linode
	gone map[int]time.Time // those that there were
}

// Duplicate is the answer to a label that is taken.
//
// Unverified: the text, which is how users and Linode's own Cluster API provider quote it, and that a Linode holds its
// label until it is gone.
var Duplicate = Problem{Field: "label", Reason: "Label must be unique among your linodes"}

// Make makes a Linode from a checked spec. It says no where another has its label.
func (a *Account) Make(id int, spec Spec, sold *catalog.Catalog, created, runs time.Time) (*Linode, bool) {
	plan, _ := sold.Plan(spec.Type)
	l := &Linode{
		ID: id, Label: cmp.Or(spec.Label, fmt.Sprintf("linode%d", id)), Region: spec.Region, Plan: plan, Type: plan.ID,
		Image: spec.Image, Tags: spec.tags(), DiskEncryption: spec.encryption(), UserData: spec.userData(),
		Created: created, Runs: runs, Off: !spec.boots(),
	}
	if a.Labelled(l.Label) {
		return nil, false
	}
	if a.byID == nil {
		a.byID, a.gone = map[int]*Linode{}, map[int]time.Time{}
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
func (a *Account) Remove(id int, at time.Time) {
	delete(a.byID, id)
	a.gone[id] = at
}

// Left returns when the Linodes went that there were, by id.
func (a *Account) Left() map[int]time.Time { return maps.Clone(a.gone) }

// Boots says whether there is something on a Linode that runs by now.
func (l *Linode) Boots(now time.Time) bool {
	return l.Gone.IsZero() && !l.Off && !l.Stuck && !l.Runs.After(now)
}

// Address is that of its first interface, of the addresses for documentation.
func (l *Linode) Address() string { return fmt.Sprintf("203.0.113.%d", 1+l.ID%65_000%254) }

// Addresses are those that the cloud controller gives its Node. That it has a private one only where one was asked for is
// recorded.
func (l *Linode) Addresses() []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: l.Label}, {Type: corev1.NodeExternalIP, Address: l.Address()},
	}
}

// Status goes from provisioning over booting to running. How long each of them lasts, and what a Linode says while it
// is deleted, is an assumption.
func (l *Linode) Status(now time.Time) string {
	switch {
	case !l.Gone.IsZero():
		return "deleting"
	case l.Boots(now):
		return "running"
	case l.Off && !l.Runs.After(now):
		return "offline"
	case now.Sub(l.Created) < l.Runs.Sub(l.Created)/4:
		return "provisioning"
	default:
		return "booting"
	}
}
