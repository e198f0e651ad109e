package sim

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
)

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
