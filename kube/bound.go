package kube

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// RequestTimeout is how long a request can take, until its answer is read. An API server cancels
// requests after a minute.
const RequestTimeout = 70 * time.Second

// ReadTimeout is the default timeout of a GET that a person waits for.
const ReadTimeout = 30 * time.Second

// saysAfter is how long a request takes before the user is told what the command is waiting for.
const saysAfter = 3 * time.Second

// Timeouts is how long a command waits for the answer of a request, except for watches.
type Timeouts struct {
	Timeout time.Duration // of each request; 0: ReadTimeout for a GET, RequestTimeout for all else
	Forever bool          // wait without limit
	// Say reports the first request that is not answered quickly. Nil reports nothing.
	Say func(what string)
}

// timeoutOf returns how long a request with a method can take.
func (p Timeouts) timeoutOf(method string) time.Duration {
	switch {
	case p.Timeout > 0:
		return p.Timeout
	case p.Say != nil && method == http.MethodGet:
		return ReadTimeout
	}
	return RequestTimeout
}

// NoResponseError means that an API server has not answered a request.
type NoResponseError struct {
	Host, Request string // such as GET /api/v1/pods
	After         time.Duration
	Do            string // how to wait longer; "" if that is not possible
}

// Error implements error.
func (e NoResponseError) Error() string {
	return fmt.Sprintf("the API server at %s did not answer %s within %s; check that it answers \"kubectl get --raw "+
		"/readyz\", and that KUBECONFIG names the right cluster%s", e.Host, e.Request, e.After, e.Do)
}

// IsNoResponse reports whether an error means that a request was not answered, such as in a burst of
// requests or while an API server is replaced. A caller that waits for something keeps waiting.
func IsNoResponse(err error) bool {
	_, silent := errors.AsType[NoResponseError](err)
	return silent
}

// KindError means that an API server has answered a request with an object of another kind
// than requested.
type KindError struct {
	Host, Request string
	Kind, Want    string
}

// Error implements error.
func (e KindError) Error() string {
	return fmt.Sprintf("the API server at %s answered %s with %s instead of %s; check that KUBECONFIG names an "+
		"API server, and what is in between", e.Host, e.Request, e.Kind, e.Want)
}

// Config returns a client configuration with which each request must be answered, and its
// answer read, within RequestTimeout. Watches continue once they are answered.
func Config(cfg *rest.Config) (*rest.Config, error) { return Timeouts{}.config(cfg) }

func (p Timeouts) config(cfg *rest.Config) (*rest.Config, error) {
	root, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{next: next, host: cfg.Host, root: root, timeouts: p}
	})
	return cfg, nil
}

// transport sends requests with a timeout. It implements http.RoundTripper.
type transport struct {
	next http.RoundTripper
	host string
	root *url.URL

	timeouts Timeouts
	said     sync.Once

	mu         sync.Mutex
	unanswered NoResponseError // of the last discovery request that was not answered
	since      time.Time
}

// queued is how soon the requests that have waited for a discovery request follow it.
const queued = time.Second

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	path := "/" + strings.Trim(strings.TrimPrefix(req.URL.Path, t.root.Path), "/")
	silence := NoResponseError{Host: t.host, Request: req.Method + " " + path, After: t.timeouts.timeoutOf(req.Method)}
	if t.timeouts.Say != nil {
		silence.Do = ", or wait longer with --request-timeout"
	}
	wants := discoveryKinds(path)
	if req.Method != http.MethodGet || wants == nil {
		return t.send(req, silence)
	}
	if err := t.waited(); err != nil {
		return nil, err
	}
	resp, err := t.send(req, silence)
	if err == nil && (resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusUnauthorized) {
		return discoveryRefused(resp)
	}
	if err == nil && resp.StatusCode == http.StatusOK {
		if err = checkDiscovery(resp, KindError{t.host, silence.Request, "", "an " + wants[0]}, wants); err != nil {
			err = errors.Join(err, resp.Body.Close())
		}
	}
	if err == nil {
		return resp, nil
	}
	if silent, ok := errors.AsType[NoResponseError](err); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.unanswered, t.since = silent, time.Now()
	}
	return nil, err
}

// discoveryRefused returns the error of an API server that refuses discovery; clients lose its reason.
func discoveryRefused(resp *http.Response) (*http.Response, error) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	var says metav1.Status
	if json.Unmarshal(raw, &says) == nil && says.Kind == "Status" && says.Reason != "" {
		return nil, errors.Join(&apierrors.StatusError{ErrStatus: says}, resp.Body.Close())
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(raw), resp.Body}
	return resp, nil
}

// waited returns an error if a discovery request has just not been answered: clients send
// one after another, and those that have waited for that one do not wait again.
func (t *transport) waited() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.since) < queued {
		return t.unanswered
	}
	return nil
}

// send sends a request with a timeout.
func (t *transport) send(req *http.Request, silence NoResponseError) (*http.Response, error) {
	ctx, end := context.WithCancelCause(req.Context())
	after := silence.After
	if t.timeouts.Forever {
		after = math.MaxInt64
	}
	timer := time.AfterFunc(after, func() { end(silence) })
	told := time.AfterFunc(saysAfter, func() { t.say(silence) })
	a := &answer{noResponse: func() error { return noResponseOf(ctx) }, end: func() { told.Stop(); timer.Stop(); end(nil) }}
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		defer a.end()
		return nil, cmp.Or(a.noResponse(), err)
	}
	if req.URL.Query().Get("watch") == "true" {
		told.Stop()
		timer.Stop()
	}
	if wait, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && wait > int(silence.After.Seconds()) {
		resp.Header.Del("Retry-After") // client-go would wait for so long
	}
	a.ReadCloser, resp.Body = resp.Body, a
	return resp, nil
}

// say reports what the command is waiting for, once.
func (t *transport) say(silence NoResponseError) {
	if t.timeouts.Say == nil {
		return
	}
	t.said.Do(func() {
		most := fmt.Sprintf("for at most %s (--request-timeout)", silence.After)
		if t.timeouts.Forever {
			most = "without limit"
		}
		t.timeouts.Say(fmt.Sprintf("waiting %s for the API server at %s to answer %s", most, t.host, silence.Request))
	})
}

func noResponseOf(ctx context.Context) error {
	if silence, ok := errors.AsType[NoResponseError](context.Cause(ctx)); ok {
		return silence
	}
	return nil
}

// answer is the body of an answer, with a timeout. It implements io.ReadCloser.
type answer struct {
	io.ReadCloser
	noResponse func() error
	end        func()
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = cmp.Or(a.noResponse(), err)
	}
	return n, err
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}

// discoveryKinds returns the kinds that an answer at a path of discovery can have; nil for other paths.
func discoveryKinds(path string) []string {
	switch parts := strings.Split(path[1:], "/"); {
	case path == "/api":
		return []string{"APIVersions", "APIGroupDiscoveryList"}
	case path == "/apis":
		return []string{"APIGroupList", "APIGroupDiscoveryList"}
	case len(parts) == 2 && parts[0] == "api", len(parts) == 3 && parts[0] == "apis":
		return []string{"APIResourceList"}
	}
	return nil
}

// checkDiscovery returns an error if an answer has none of some kinds: for client-go it would mean that
// there is nothing, and no kind that it looks for.
func checkDiscovery(resp *http.Response, wrong KindError, wants []string) error {
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var of struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &of); err != nil {
		wrong.Kind = "text that is not JSON"
		return wrong
	}
	if !slices.Contains(wants, of.Kind) {
		wrong.Kind = "a " + cmp.Or(of.Kind, "thing without a kind")
		return wrong
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(raw), resp.Body}
	return nil
}
