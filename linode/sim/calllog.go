package sim

import (
	"maps"
	"net/http"
	"time"
)

// maxLoggedBody is how many bytes of a request the call log keeps.
const maxLoggedBody = 2000

// keptCalls is how many calls the log keeps.
const keptCalls = 10_000

// callLog counts calls and keeps the last ones, without tokens.
type callLog struct {
	seq      int
	calls    []*Call // oldest first
	writes   int
	byRoute  map[string]int
	byStatus map[int]int
}

func newCallLog() *callLog {
	return &callLog{byRoute: map[string]int{}, byStatus: map[int]int{}}
}

func (l *callLog) begin(r *http.Request, route string, body []byte, f Fault) *Call {
	l.seq++
	l.byRoute[route]++
	if r.Method != http.MethodGet {
		l.writes++
	}
	call := &Call{
		Seq: l.seq, At: time.Now(), Method: r.Method, Path: r.URL.RequestURI(), Route: route,
		Body: string(body[:min(len(body), maxLoggedBody)]), Fault: f.name(),
	}
	l.calls = append(l.calls, call)
	if len(l.calls) > keptCalls {
		l.calls = l.calls[len(l.calls)-keptCalls:]
	}
	return call
}

func (l *callLog) finish(call *Call, status int) {
	call.Status = status
	l.byStatus[status]++
}

func (l *callLog) stats(into *Stats) {
	into.Calls, into.Writes = l.seq, l.writes
	into.ByRoute, into.ByStatus = maps.Clone(l.byRoute), maps.Clone(l.byStatus)
}

// name returns the name of a fault for the call log.
func (f *Fault) name() string {
	switch {
	case f.Name != "":
		return f.Name
	case f.Late.Duration != 0:
		return "done later"
	case f.Ignored:
		return "ignored"
	case f.Lost:
		return "answer lost"
	case f.Hang:
		return "hang"
	case f.Status != 0 && f.AfterWork:
		return "status after the work"
	case f.Status != 0:
		return "status"
	case f.Delay.Duration != 0:
		return "delay"
	case len(f.Header) > 0:
		return "header"
	}
	return ""
}
