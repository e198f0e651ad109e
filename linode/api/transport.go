package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody is the largest answer: 500 pools of 100 slots are under 6 MiB.
const maxBody = 16 << 20

// transport sends requests within the rate limits and reads the whole answer. It repeats no request, except
// after a 403 just after an object was created. An answer that is not 2xx or not JSON is an error: linodego
// treats a 5xx without a list of errors as success.
type transport struct {
	base    http.RoundTripper
	timeout time.Duration // of one request, without the wait for the rate limit
	token   secret
	limiter *limiter
	scopes  atomic.Pointer[[]string]
	gate    func() error // nil allows all requests
	made    atomic.Int64 // when an object was created last, in nanoseconds since 1970
	observe func(Call)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	op := operationOf(req.Context())
	call := Call{Method: req.Method, Route: routeOf(req.URL.Path), Left: -1}
	call.Optional = req.Context().Value(optionalKey{}) != nil
	bucket := bucketFor(req)
	asked := time.Now()
	if err := t.limiter.wait(req.Context(), bucket); err != nil {
		return nil, op.failed(&notSentError{err})
	}
	if req.Method != http.MethodGet && t.gate != nil {
		if err := t.gate(); err != nil {
			return nil, op.failed(&notSentError{err})
		}
	}
	sent := time.Now()
	call.Waited = sent.Sub(asked)
	op.sent = true
	resp, err := t.send(req, bucket, &call)
	if again := t.again(req, err); again != nil && t.rest(again, bucket) == nil {
		resp, err = t.send(again, bucket, &call)
	}
	if err == nil && req.Method == http.MethodPost {
		t.made.Store(time.Now().UnixNano())
	}
	call.Duration, call.Class, call.Err = time.Since(sent), ClassOf(err), err
	if t.observe != nil {
		t.observe(call)
	}
	return resp, op.failed(err)
}

// For this long after an object was created, a 403 may mean that the object is not known everywhere yet. The
// request is repeated once after a pause, as in Akamai's own landing zone (M, 2026-08).
const (
	newFor   = 30 * time.Second
	newPause = 3 * time.Second
)

// again returns the request to repeat because its answer says that it was not carried out and may be wrong; nil if
// it must not be repeated. Only the second answer is observed, because the first one says nothing about the token.
func (t *transport) again(req *http.Request, err error) *http.Request {
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.Status != http.StatusForbidden || time.Since(time.Unix(0, t.made.Load())) > newFor {
		return nil
	}
	again := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return nil
		}
		if again.Body, err = req.GetBody(); err != nil {
			return nil
		}
	}
	return again
}

// rest waits until a request may be repeated; it returns an error if it must not be.
func (t *transport) rest(req *http.Request, b bucket) error {
	timer := time.NewTimer(newPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-req.Context().Done():
		return req.Context().Err()
	}
	if err := t.limiter.wait(req.Context(), b); err != nil {
		return err
	}
	if req.Method != http.MethodGet && t.gate != nil {
		return t.gate()
	}
	return nil
}

// send sends one request and stores the values of the answer's headers in call.
func (t *transport) send(req *http.Request, bucket bucket, call *Call) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	defer cancel()
	resp, err := t.base.RoundTrip(t.signed(req.Clone(ctx)))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", call.Method, call.Route, err)
	}
	defer resp.Body.Close()
	t.note(call, resp)
	if at, ok := req.Context().Value(dateKey{}).(*time.Time); ok && at.IsZero() {
		*at, _ = http.ParseTime(resp.Header.Get("Date"))
	}
	call.Asked = t.limiter.update(bucket, resp.StatusCode, resp.Header)
	call.Paused = min(call.Asked, longestPause)
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s %s: %w", call.Method, call.Route, err)
	case resp.StatusCode >= 300:
		// Some gateways repeat the request in their error pages.
		return nil, errorFrom(resp, bytes.ReplaceAll(raw, []byte(*t.token.value), []byte(redacted)))
	case !json.Valid(raw) && req.Method != http.MethodDelete:
		return nil, fmt.Errorf("the answer of %s %s is not JSON", call.Method, call.Route)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	resp.Header.Set("Content-Type", "application/json") // linodego accepts no other type
	return resp, nil
}

func (t *transport) signed(req *http.Request) *http.Request {
	// Without GetBody net/http cannot resend the request on its own
	// when a kept connection turns out to be closed.
	req.GetBody = nil
	if req.Body == nil {
		req.Body = http.NoBody
	}
	req.Header.Set("Authorization", "Bearer "+*t.token.value)
	req.Header.Set("Accept", "application/json")
	return req
}

// note reads the headers of an answer.
func (t *transport) note(call *Call, resp *http.Response) {
	call.Status = resp.StatusCode
	call.Limit, _ = headerNumber(resp.Header, "X-RateLimit-Limit")
	if left, ok := headerNumber(resp.Header, "X-RateLimit-Remaining"); ok {
		call.Left = left
	}
	if scopes := scopesOf(resp.Header.Get("X-OAuth-Scopes")); len(scopes) > 0 {
		t.scopes.Store(&scopes)
	}
}

// errorFrom reads an error answer. A body that is not the API's JSON, such as
// a gateway's HTML page, leaves only the status.
func errorFrom(resp *http.Response, raw []byte) *Error {
	e := &Error{Status: resp.StatusCode}
	// A missing scope is answered with 401, like a wrong token; only the headers distinguish them.
	if granted := scopesOf(resp.Header.Get("X-OAuth-Scopes")); len(granted) > 0 && e.Status == http.StatusUnauthorized {
		for _, scope := range scopesOf(resp.Header.Get("X-Accepted-OAuth-Scopes")) {
			if !coversScope(granted, scope) {
				e.MissingScope, e.Scopes = scope, granted
			}
		}
	}
	var body struct {
		Errors []Reason `json:"errors"`
	}
	if json.Unmarshal(raw, &body) == nil {
		e.Reasons = body.Errors
	}
	return e
}

var numbers = regexp.MustCompile(`/[0-9][0-9a-f-]*`)

// routeOf returns a path of the API without its version, and with placeholders for numbers and slot ids, so that
// the number of routes is limited.
func routeOf(path string) string {
	if _, rest, ok := strings.Cut(path, "/"+version+"/"); ok {
		path = rest
	}
	return numbers.ReplaceAllString(path, "/{}")
}
