package sim

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is something that goes wrong. It is matched against calls by Method and Path, or, with NoCapacity and what is
// after it, against the plan and region of nodes and Linodes that are to be made. The zero fields match
// everything and do nothing, so that
//
//	Fault{Method: "POST", Path: "/lke/clusters/*/pools", Count: 1, Lost: true}
//
// does the work of the first pool creation and closes the connection without an answer, and
//
//	Fault{After: 4, Count: 1, Status: 500}
//
// fails the fifth call. Where several match a call, all of them count it and the first that is due has its effect.
//
//	Fault{Method: "PUT", Count: 1, Status: 504, Late: metav1.Duration{Duration: 20 * time.Second}}
//
// is a PUT whose client gets no answer and that is done twenty seconds later.
type Fault struct {
	// Name is for the call log and for people.
	Name string `json:"name,omitempty"`

	// Method is the HTTP method, "" for any. Path is the path without /v4 or /v4beta, "" for any; * stands for one
	// segment, ** at the end for all that follow.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// After lets that many matching calls (with NoCapacity "null" or "event": nodes) through first; Count is how many are
	// hit after that, 0 all.
	After int `json:"after,omitempty"`
	Count int `json:"count,omitempty"`
	// Chance hits only so many of those, at random: 0.05 is every twentieth. 0 hits all.
	Chance float64 `json:"chance,omitempty"`

	// Status answers with that status and Body: JSON or HTML as it is, any other text as the reason of an API error. The
	// work is not done, unless AfterWork is set.
	Status int    `json:"status,omitempty"`
	Body   string `json:"body,omitempty"`
	// Header is added to the answer, with any status.
	Header map[string]string `json:"header,omitempty"`
	// AfterWork does the work before Status, Delay or Hang take effect.
	AfterWork bool `json:"after_work,omitempty"`
	// Late does the work that long after the call. It goes with Status, Lost or Hang. What cannot be done by then, such as
	// a PUT to a pool that is gone, is not done.
	Late metav1.Duration `json:"late,omitzero"`
	// Ignored answers a DELETE with success and does nothing. (For a POST or PUT that is Clamp, below.)
	Ignored bool `json:"ignored,omitempty"`
	// Lost does the work and closes the connection without an answer. (Go's client repeats a GET automatically when that
	// happens on a connection that was used before.)
	Lost bool `json:"lost,omitempty"`
	// Delay, as text "1.5s" in JSON, makes the call take longer. Hang gives no answer until the client disconnects.
	Delay metav1.Duration `json:"delay,omitzero"`
	Hang  bool            `json:"hang,omitempty"`

	// NoCapacity is how a plan is out of stock: "refuse" answers calls that want more of it with 400 and Body (default:
	// a text), "null" leaves the slots without an instance until the fault is cleared, "event" does the same and writes an
	// event lke_node_create for each, "hidden" counts them and never lists them until then, "clamp" answers with success
	// and makes fewer. Which of them real LKE does is not known. Plan and Region say where; "" is any.
	NoCapacity string `json:"no_capacity,omitempty"`
	// Field is what a refusal for lack of capacity is about, such as "type". Whether real LKE names one is not known.
	Field  string `json:"field,omitempty"`
	Plan   string `json:"plan,omitempty"`
	Region string `json:"region,omitempty"`
	// NeverJoins has machines that are made while the fault is there never become nodes. It goes with Plan and Region.
	NeverJoins bool `json:"never_joins,omitempty"`
	// StaysOffline has machines of LKE pools that are made while the fault is there never boot. It goes with Plan and
	// Region.
	StaysOffline bool `json:"stays_offline,omitempty"`
	// PosesAs is another name than their own under which Linodes register that are in no LKE pool. It goes with Plan and
	// Region.
	PosesAs string `json:"poses_as,omitempty"`
	// Room is how many nodes there is still capacity for, with "refuse" and "clamp".
	Room int `json:"room,omitempty"`
}

// The ways of Fault.NoCapacity.
const (
	Refuse    = "refuse"
	NullSlots = "null"
	NodeEvent = "event"
	Hidden    = "hidden"
	Clamp     = "clamp"
)

// Unverified: that LKE has the second for pools, too.
//
// What the real API says where an account has a limit, for the Body of a [Fault] with NoCapacity [Refuse]. Both were
// seen live: the first on new Linodes and volumes (2025, 2026), the second for g7-highmem-8 in us-ord on 2026-07-28.
const (
	ActiveServices = "You've reached a limit for the number of active services on your account. " +
		"Please contact Support to request an increase and provide the total number of services you may need."
	PlanClosed = "A limit on your account is preventing the deployment of the selected Linode plan. " +
		"To request access to the plan, please contact Support and provide the Linode plan name."
)

// Forbidden is the answer to calls that the role of the token's user does not allow, and, once, to one right after an
// object was created (Akamai's landing zone, 2026-08). That both have this text is an assumption for roles.
func Forbidden(f Fault) Fault {
	f.Status, f.Body = http.StatusForbidden, "Unauthorized"
	return f
}

// CallFaults returns every way in which a call can fail, by name.
func CallFaults() map[string]Fault {
	return map[string]Fault{
		"500":         {Status: 500},
		"503 html":    {Status: 503, Body: "<html>no</html>"},
		"429":         {Status: 429},
		"busy":        {Status: 400, Body: "Linode busy."},
		"done, 500":   {Status: 500, AfterWork: true},
		"answer lost": {Lost: true},
		"hangs":       {Hang: true},
		"hangs, done": {Hang: true, AfterWork: true},
	}
}
