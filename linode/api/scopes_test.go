package api

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

func TestScopes(t *testing.T) {
	for header, want := range map[string]bool{
		"lke:read_write": true, "*": true, "linodes:read_only lke:read_write": true, "lke:*": true,
		"linodes:read_only,lke:read_write": true,
		"lke:read_only":                    false, "linodes:read_write": false, "": true,
	} {
		t.Run(header, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-OAuth-Scopes", header)
				io.WriteString(w, `{"id":1}`)
			})
			if _, err := c.Cluster(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if got := c.MayUse(ScopePools); got != want {
				t.Errorf("MayUse = %v with %v", got, c.Scopes())
			}
		})
	}
	if !coversScope([]string{"lke:read_write"}, "lke:read_only") || coversScope([]string{"lke:read_only"}, "lke:read_write") {
		t.Error("who may write may read, and not the other way")
	}
}

// TestAMissingScopeIsNamed: the API answers 401 to it, as to a wrong token.
func TestAMissingScopeIsNamed(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-OAuth-Scopes", "lke:read_only linodes:read_write")
		w.Header().Set("X-Accepted-OAuth-Scopes", "lke:read_write")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"errors":[{"reason":"Your OAuth token is not authorized to use this endpoint."}]}`)
	})
	err := c.DeletePool(t.Context(), 1, 2)
	if ClassOf(err) != ClassAuth || !strings.Contains(err.Error(),
		"the token lacks lke:read_write; it has lke:read_only linodes:read_write") {
		t.Errorf("class %s: %v", ClassOf(err), err)
	}
}

// TestUnknownTokenLacksNoScope: the API says that its scopes are unknown.
func TestUnknownTokenLacksNoScope(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-OAuth-Scopes", "unknown")
		w.Header().Set("X-Accepted-OAuth-Scopes", "lke:read_write")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"errors":[{"reason":"Invalid Token"}]}`)
	})
	err := c.DeletePool(t.Context(), 1, 2)
	if ClassOf(err) != ClassAuth || !strings.HasSuffix(err.Error(), "the Linode API answered 401: Invalid Token") {
		t.Errorf("class %s: %v", ClassOf(err), err)
	}
}

// TestTheTokenIsNeverShown: neither in what is printed of a client nor in an
// error, even where a gateway repeats the request.
func TestTheTokenIsNeverShown(t *testing.T) {
	const token = "8f1c0ffee8f1c0ffee"
	answers := map[string]http.HandlerFunc{
		"echo": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"errors":[{"reason":"bad header %s"}]}`, r.Header.Get("Authorization"))
		},
		"lost":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"nonsense": func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Authorization")) },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			c := serve(t, answer)
			c.transport.token = newSecret(token)
			_, err := c.Pools(t.Context(), 1)
			var log strings.Builder
			slog.New(slog.NewTextHandler(&log, nil)).Error("no", "error", err, "token", c.transport.token)
			for _, shown := range []string{err.Error(), log.String(), fmt.Sprintf("%v %+v %#v", c.transport.token,
				c.transport.token, c.transport.token), fmt.Sprintf("%+v", c)} {
				if strings.Contains(shown, token) {
					t.Errorf("the token is shown: %s", shown)
				}
			}
		})
	}
}

func TestResponsesReportRemainingRequests(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Limit", "1840")
		w.Header().Set("X-RateLimit-Remaining", "1700")
		w.Header().Set("X-RateLimit-Reset", "4102444800")
		w.Header().Set("Retry-After", "60") // on every answer, with nothing held back
		io.WriteString(w, `{"data":[],"pages":1}`)
	})
	var call Call
	c.transport.observe = func(done Call) { call = done }
	for range 3 {
		if _, err := c.Pools(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if call.Limit != 1840 || call.Left != 1700 || call.Waited > 1e9 {
		t.Errorf("call = %+v", call)
	}
}
