package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Standing records whether the Linode API currently answers and accepts the token. Only calls that nodes need
// count: a token without the right to read firewalls or events can still suffice for nodes. It is safe for
// concurrent use.
//
// Unverified: that a refused token is always answered with 401 or 403, and that the next
// good answer means that it works again.
type Standing struct {
	scope   string
	routes  string // prefix of the routes that count
	changed chan struct{}

	mu         sync.Mutex
	announced  string // the reason of the Problem at the last change
	unanswered int    // number of consecutive calls without an answer
	silence    error  // of the last of them
	reading    error  // the last read was refused
	writing    error  // the last write was refused
	refused    time.Time
}

// Problem is why the Linode API cannot be used.
type Problem struct {
	Reason string // ReasonTokenRefused or ReasonNoAnswer; "" if there is no problem
	Text   string // one sentence
}

// The reasons of a Problem.
const (
	ReasonTokenRefused = "TokenRefused"
	ReasonNoAnswer     = "NoAnswer"
)

// How many consecutive calls must fail before the API counts as not answering, and how long a refused write
// counts: without another write nothing would show that the token works again.
const (
	silentAfter  = 3
	refusedWrite = 5 * time.Minute
)

// NewStanding returns the standing before the first call: no problem. The scope is the one
// that the token has to have: ScopePools for the node pools of LKE, ScopeInstances for Linodes.
func NewStanding(scope string) *Standing {
	routes := "lke/clusters"
	if scope == ScopeInstances {
		routes = "linode/instances"
	}
	return &Standing{scope: scope, routes: routes, changed: make(chan struct{}, 1)}
}

// Changed receives when the reason of the Problem has changed.
func (s *Standing) Changed() <-chan struct{} { return s.changed }

// Observe counts a call; it is for Options.Observe.
func (s *Standing) Observe(call Call) {
	if call.Optional || !strings.HasPrefix(call.Route, s.routes) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	refusal := &s.writing
	if call.Method == http.MethodGet {
		refusal = &s.reading
	}
	switch call.Class {
	case ClassUnknown:
		s.unanswered, s.silence = s.unanswered+1, call.Err
	case ClassAuth:
		s.unanswered, *refusal = 0, call.Err
		if call.Method != http.MethodGet {
			s.refused = time.Now()
		}
	case ClassBusy: // it says nothing about the token
		s.unanswered = 0
	default:
		s.unanswered, *refusal = 0, nil
	}
	if now := s.problem().Reason; now != s.announced {
		s.announced = now
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
}

// Problem returns why the API cannot be used now.
func (s *Standing) Problem() Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem()
}

func (s *Standing) problem() Problem {
	refusal := s.reading
	if refusal == nil && time.Since(s.refused) < refusedWrite {
		refusal = s.writing
	}
	switch {
	case refusal != nil:
		return Problem{ReasonTokenRefused, fmt.Sprintf(
			"the Linode API refuses the controller's token: %v; give the controller %s", refusal, Allow(refusal, s.scope))}
	case s.unanswered >= silentAfter:
		return Problem{ReasonNoAnswer, fmt.Sprintf(
			"the Linode API does not respond correctly: %v; NodeClaims wait until it does", s.silence)}
	}
	return Problem{}
}
