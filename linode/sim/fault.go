package sim

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is a simulated failure. It is matched against calls by Method and Path, or, with NoCapacity and the fields
// after it, against the plan and region of new nodes and Linodes. Zero fields match everything and do nothing, so
// that
//
// Fault{Method: "POST", Path: "/lke/clusters/*/pools", Count: 1, Lost: true}
//
// does the work of the first pool creation and closes the connection without an answer, and
//
// Fault{After: 4, Count: 1, Status: 500}
//
// fails the fifth call. If several faults match a call, all of them count it, and the first one that is due has its
// effect.
//
// Fault{Method: "PUT", Count: 1, Status: 504, Late: metav1.Duration{Duration: 20 * time.Second}}
//
// is a PUT whose client gets the status 504, and that is carried out twenty seconds later.
type Fault struct {
	// Name is for the call log and for users.
	Name string `json:"name,omitempty"`

	// Method is the HTTP method, "" for any. Path is the path without /v4 or /v4beta, "" for any; * stands for one
	// segment, ** at the end for all remaining ones.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// After is how many matching calls (with NoCapacity "null" or "event": nodes) are not affected first; Count is
	// how many are affected after that, 0 for all.
	After int `json:"after,omitempty"`
	Count int `json:"count,omitempty"`
	// Chance affects only a random share of them: 0.05 is every twentieth. 0 affects all.
	Chance float64 `json:"chance,omitempty"`

	// Status answers with that status and Body: JSON or HTML unchanged, and any other text as the reason of an API
	// error. The work is not done, unless AfterWork is set.
	Status int    `json:"status,omitempty"`
	Body   string `json:"body,omitempty"`
	// Header is added to the answer, with any status.
	Header map[string]string `json:"header,omitempty"`
	// AfterWork does the work before Status, Delay or Hang take effect.
	AfterWork bool `json:"after_work,omitempty"`
	// Late does the work this long after the call, together with Status, Lost or Hang. If it is impossible by then,
	// such as a PUT to a deleted pool, it is not done.
	Late metav1.Duration `json:"late,omitzero"`
	// Ignored answers a DELETE with success and does nothing. (For a POST or PUT, use Clamp.)
	Ignored bool `json:"ignored,omitempty"`
	// Lost does the work and closes the connection without an answer. (Go's client repeats a GET automatically if
	// that happens on a connection that was used before.)
	Lost bool `json:"lost,omitempty"`
	// Delay, in JSON a text such as "1.5s", makes the call take longer. Hang gives no answer until the client
	// disconnects.
	Delay metav1.Duration `json:"delay,omitzero"`
	Hang  bool            `json:"hang,omitempty"`

	// NoCapacity is how LKE behaves if a plan is out of stock. "refuse" answers calls that need more of it with 400
	// and Body (by default a text); "null" leaves the slots without an instance until the fault is cleared; "event"
	// does the same and writes an event lke_node_create for each; "hidden" counts the slots and does not list them
	// until then; "clamp" answers with success and creates fewer. It is unknown which of them real LKE does. Plan
	// and Region limit the fault; "" is any.
	NoCapacity string `json:"no_capacity,omitempty"`
	// Field is the field that a refusal for lack of capacity names, such as "type". It is unknown whether real LKE
	// names one.
	Field  string `json:"field,omitempty"`
	Plan   string `json:"plan,omitempty"`
	Region string `json:"region,omitempty"`
	// NeverJoins means that machines that are created while the fault is set never become nodes. It is combined
	// with Plan and Region.
	NeverJoins bool `json:"never_joins,omitempty"`
	// StaysOffline means that machines of LKE pools that are created while the fault is set never boot. It is
	// combined with Plan and Region.
	StaysOffline bool `json:"stays_offline,omitempty"`
	// RegisterAs is the node name that Linodes in no LKE pool use instead of their own. It is combined with Plan
	// and Region.
	RegisterAs string `json:"register_as,omitempty"`
	// Room is the number of nodes for which there is capacity, with "refuse" and "clamp".
	Room int `json:"room,omitempty"`
}

// The values of Fault.NoCapacity.
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

// Forbidden returns the answer to calls that the role of the token's user does not allow, and, once, to a call right
// after an object was created (Akamai's landing zone, 2026-08). For roles, this text is an assumption.
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
