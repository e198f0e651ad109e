package lkesim

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Fault is something that goes wrong. It is matched against calls by Method and Path, or, with NoCapacity, against the
// plan and region of nodes that are to be made. The zero fields match everything and do nothing, so that
//
//	Fault{Method: "POST", Path: "/lke/clusters/*/pools", Count: 1, Lost: true}
//
// does the work of the first pool creation and closes the connection without an answer, and
//
//	Fault{After: 4, Count: 1, Status: 500}
//
// fails the fifth call. Where several match a call, all of them count it and the first that is due has its effect.
type Fault struct {
	// Name is for the call log and for people.
	Name string `json:"name,omitempty"`

	// Method is the HTTP method, "" for any. Path is the path without /v4 or /v4beta, "" for any; * stands for one
	// segment, ** at the end for all that follow.
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	// After lets that many matching calls (with NoCapacity "null": nodes) through first; Count is how many are hit after
	// that, 0 all.
	After int `json:"after,omitempty"`
	Count int `json:"count,omitempty"`

	// Status answers with that status and Body: JSON or HTML as it is, any other text as the reason of an API error. The
	// work is not done, unless AfterWork says so.
	Status int    `json:"status,omitempty"`
	Body   string `json:"body,omitempty"`
	// Header is added to the answer, whatever its status.
	Header map[string]string `json:"header,omitempty"`
	// AfterWork does the work before Status, Delay or Hang take effect.
	AfterWork bool `json:"after_work,omitempty"`
	// Lost does the work and closes the connection without an answer. (Go's client repeats a GET by itself when that
	// happens on a connection that was used before.)
	Lost bool `json:"lost,omitempty"`
	// Delay, as text "1.5s" in JSON, makes the call take longer. Hang gives no answer until the client gives up.
	Delay metav1.Duration `json:"delay,omitzero"`
	Hang  bool            `json:"hang,omitempty"`

	// NoCapacity is how a plan is out of stock: "refuse" answers calls that want more of it with 400 and Body (default:
	// a text), "null" leaves the slots without an instance until the fault is cleared. Which of the two real LKE does is
	// not known. Plan and Region say where; "" is any.
	NoCapacity string `json:"no_capacity,omitempty"`
	Plan       string `json:"plan,omitempty"`
	Region     string `json:"region,omitempty"`
}

// The ways of Fault.NoCapacity.
const (
	Refuse    = "refuse"
	NullSlots = "null"
)
