package lkesim

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client returns a client whose calls are answered in this process, without a listener or a connection: any host
// name will do. It works under testing/synctest.
func (s *Simulator) Client() *http.Client { return &http.Client{Transport: transport{s}} }

// transport answers a request by calling the handler in the caller's own goroutine.
type transport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. A handler that gives no answer is an unexpected end of file, as with a real
// connection; where the client's context is over it is that instead.
func (t transport) RoundTrip(r *http.Request) (res *http.Response, err error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	w := &recorder{header: http.Header{}}
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
	return w.response(r), nil
}

// serverSide is the request as a server would get it.
func serverSide(r *http.Request) *http.Request {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// recorder is an http.ResponseWriter that keeps what is written.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *recorder) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

func (w *recorder) response(r *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	if w.header.Get("Date") == "" {
		w.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	}
	return &http.Response{
		StatusCode: w.status, Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}
}
