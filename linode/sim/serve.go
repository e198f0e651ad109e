package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"
)

// maxRequest is how many bytes of a request are read; real ones have less than a kilobyte.
const maxRequest = 1 << 20

// answer is the answer to a call, before it is written.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// exchange is a call that is being handled.
type exchange struct {
	route route
	http  *http.Request
	body  []byte
	fault Fault
	call  *Call // in the log
}

// serve handles one call: it logs it, applies a fault, does the work, and answers.
func (s *Simulator) serve(w http.ResponseWriter, r *http.Request, rt route) {
	x := s.begin(r, rt)
	status := 0 // it stays 0 if no answer is sent
	defer func() { s.finish(x, status) }()

	f := x.fault
	worksFirst := (f.AfterWork || f.Lost) && f.Late.Duration == 0
	if f.Late.Duration > 0 {
		s.postpone(x)
	}
	if !worksFirst {
		waitDelay(r.Context(), f)
	}
	result := answer{status: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: []byte("{}")}
	if worksFirst || (f.Status == 0 && !f.Ignored && f.Late.Duration == 0) {
		result = s.work(x)
	}
	if worksFirst {
		waitDelay(r.Context(), f)
	}
	if f.Lost {
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
	if f.Status != 0 {
		result = f.answer()
	}
	for key, value := range f.Header {
		result.header.Set(key, value)
	}
	status = result.writeTo(w)
}

// begin counts and logs a call and selects its fault.
func (s *Simulator) begin(r *http.Request, rt route) *exchange {
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxRequest)) // a truncated body is not JSON and is rejected as such
	x := &exchange{route: rt, http: r, body: body}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.fault = s.state.faults.call(r.Method, r.URL.Path)
	x.call = s.log.begin(r, rt.pattern, body, x.fault)
	return x
}

func (s *Simulator) finish(x *exchange, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.finish(x.call, status)
}

// postpone schedules the work of a call for later, when its client does not wait any more.
func (s *Simulator) postpone(x *exchange) {
	s.mu.Lock()
	s.state.agenda.plan(time.Now().Add(x.fault.Late.Duration), func(at time.Time) {
		_, _ = x.route.serve(s.state, &request{http: x.http, body: x.body, now: at})
	})
	s.mu.Unlock()
	s.changed()
}

// work does the work of a call and returns its answer.
func (s *Simulator) work(x *exchange) answer {
	now := time.Now()
	a := answer{status: http.StatusOK, header: http.Header{}}
	s.mu.Lock()
	result, err := s.workLocked(x, a.header, now)
	s.mu.Unlock()
	if x.http.Method != http.MethodGet {
		s.changed()
	}
	if err == nil {
		a.body, err = json.Marshal(result)
	}
	if err != nil {
		failed := asAPIError(err)
		a.status, a.body = failed.status, errorBody(failed.errs)
	}
	a.header.Set("Content-Type", "application/json")
	return a
}

func (s *Simulator) workLocked(x *exchange, header http.Header, now time.Time) (any, error) {
	token := bearerToken(x.http)
	q := s.limiter.count(token, x.route.bucket(), now)
	if !x.route.unmetered {
		q.writeTo(header, now)
	}
	if err := s.authorize(token, x.route, header); err != nil {
		return nil, err
	}
	if q.exceeded {
		return nil, refusalError(http.StatusTooManyRequests, "", "Too many requests")
	}
	var object map[string]json.RawMessage
	if len(x.body) > 0 && json.Unmarshal(x.body, &object) != nil {
		return nil, refusalError(http.StatusBadRequest, "", "Invalid JSON") // assumption: the text
	}
	s.state.agenda.run(now)
	return x.route.serve(s.state, &request{http: x.http, body: x.body, now: now})
}

// authorize checks the token and sets the headers accordingly. Observed on the real API: a missing token, a wrong
// one and one without the scope all get 401; the headers have the scopes only for a known token. That public calls
// do not read the token is an assumption.
func (s *Simulator) authorize(token string, rt route, header http.Header) error {
	known := s.cfg.Token == "" || token == s.cfg.Token
	header.Set("X-Accepted-OAuth-Scopes", cmp.Or(rt.scope, "*"))
	if s.cfg.breaks("scopes") {
		header.Set("X-Accepted-OAuth-Scopes", strings.Replace(rt.scope, "read_only", "read_write", 1))
	}
	header.Set("X-OAuth-Scopes", "unknown")
	if known {
		header.Set("X-OAuth-Scopes", s.cfg.Scopes)
	}
	switch {
	case rt.scope == "":
		return nil
	case !known && s.cfg.breaks("token"):
		return refusalError(http.StatusBadRequest, "", "Invalid Token")
	case !known:
		return refusalError(http.StatusUnauthorized, "", "Invalid Token")
	case !grantsScope(s.cfg.Scopes, rt.scope):
		return refusalError(http.StatusUnauthorized, "", "Your OAuth token is not authorized to use this endpoint.")
	}
	return nil
}

// grantsScope reports whether a token's scopes include the needed one; read_write includes read_only.
func grantsScope(scopes, needed string) bool {
	granted := strings.FieldsFunc(scopes, func(r rune) bool { return r == ' ' || r == ',' })
	return needed == "" || slices.Contains(granted, "*") || slices.Contains(granted, needed) ||
		slices.Contains(granted, strings.Replace(needed, ":read_only", ":read_write", 1))
}

func bearerToken(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

func asAPIError(err error) *apiError {
	if known, ok := errors.AsType[*apiError](err); ok {
		return known
	}
	return refusalError(http.StatusInternalServerError, "", err.Error())
}

// waitDelay waits for a fault's delay. A client that disconnects meanwhile gets no answer, which is the purpose of a
// hanging call.
func waitDelay(ctx context.Context, f Fault) {
	if f.Hang {
		<-ctx.Done()
	}
	if f.Delay.Duration > 0 {
		sleepOrChange(ctx, f.Delay.Duration, nil)
	}
	if (f.Hang || f.Delay.Duration > 0) && ctx.Err() != nil {
		panic(http.ErrAbortHandler)
	}
}

// answer returns the answer of a fault with a status: its body unchanged if it is JSON or HTML, else as the reason.
func (f *Fault) answer() answer {
	a := answer{status: f.Status, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(f.Body)}
	switch text := strings.TrimSpace(f.Body); {
	case strings.HasPrefix(text, "<"):
		a.header.Set("Content-Type", "text/html")
	case !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "["):
		a.body = errorBody([]fieldError{{Reason: cmp.Or(text, http.StatusText(f.Status))}})
	}
	return a
}

func (a answer) writeTo(w http.ResponseWriter) (status int) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client may be gone
	return a.status
}

// Client returns a client whose calls are answered in this process, without a listener or a connection: any host
// name will do. It works under testing/synctest.
func (s *Simulator) Client() *http.Client { return &http.Client{Transport: transport{s}} }

// transport answers a request by calling the handler in the caller's own goroutine.
type transport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. If a handler gives no answer, the error is an unexpected end of file, as
// with a real connection, or that of the client's context if it has ended.
func (t transport) RoundTrip(r *http.Request) (res *http.Response, err error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil {
			if p != any(http.ErrAbortHandler) {
				panic(p)
			}
			res, err = nil, cmp.Or(r.Context().Err(), io.ErrUnexpectedEOF)
		}
	}()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	t.handler.ServeHTTP(w, serverSide(r))
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	res = w.Result()
	res.Request = r
	return res, nil
}

// serverSide returns the request as a server would get it.
func serverSide(r *http.Request) *http.Request {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}
