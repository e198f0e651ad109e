package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCheckReady waits for a controller that becomes ready, and reports the answer of one that does not.
func TestCheckReady(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/later" && requests.Add(1) > 1, r.URL.Path == "/now":
			w.WriteHeader(http.StatusOK)
		default:
			http.Error(w, "[-]caches failed", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	absent := httptest.NewServer(http.NotFoundHandler())
	absent.Close()
	tests := []struct {
		name, want string
		args       []string
	}{
		{"ready", "", []string{server.URL + "/now", server.URL + "/later"}},
		{"one is not ready", "503 Service Unavailable: [-]caches failed; see the log of the controller",
			[]string{server.URL + "/now", server.URL + "/never", "--timeout", "500ms"}},
		{"no answer", "connection refused", []string{absent.URL + "/readyz", "--timeout", "500ms"}},
		{"no URL", "requires at least 1 arg", nil},
		{"not a URL", "unsupported protocol scheme", []string{"localhost/readyz", "--timeout", "500ms"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr strings.Builder
			code := run(t.Context(), append([]string{"check-ready"}, tt.args...), func(string) string { return "" }, &stderr)
			if ok := code == 0; ok != (tt.want == "") || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("exit code %d, want an error with %q: %s", code, tt.want, &stderr)
			}
		})
	}
}
