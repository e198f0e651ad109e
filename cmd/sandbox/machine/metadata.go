//go:build linux

package machine

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// metadata returns Linode's Metadata service, version 1, for one Linode: it creates tokens by PUT, answers with
// lines, or with JSON if the client accepts it, and returns user data in base64.
func metadata(l Linode) http.Handler {
	var mu sync.Mutex
	tokens := map[string]time.Time{}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/token", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.Atoi(r.Header.Get("Metadata-Token-Expiry-Seconds"))
		if err != nil || seconds < 1 || seconds > 86400 {
			http.Error(w, "Metadata-Token-Expiry-Seconds: 1 to 86400", http.StatusBadRequest)
			return
		}
		token := rand.Text()
		mu.Lock()
		tokens[token] = time.Now().Add(time.Duration(seconds) * time.Second)
		mu.Unlock()
		_, _ = io.WriteString(w, token)
	})
	known := func(do http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			good := time.Now().Before(tokens[r.Header.Get("Metadata-Token")])
			mu.Unlock()
			if !good {
				http.Error(w, "unauthorized", http.StatusUnauthorized)
				return
			}
			do(w, r)
		}
	}
	mux.HandleFunc("GET /v1/user-data", known(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, base64.StdEncoding.EncodeToString(l.UserData))
	}))
	mux.HandleFunc("GET /v1/instance", known(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "json") {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{
				"id": l.ID, "label": l.Label, "region": l.Region, "type": l.Type, "host_uuid": l.HostUUID, "tags": []string{},
			})
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "host_uuid: %s\nid: %d\nlabel: %s\nregion: %s\ntype: %s", l.HostUUID, l.ID, l.Label, l.Region, l.Type)
	}))
	return mux
}
