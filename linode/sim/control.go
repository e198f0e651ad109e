package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// The control API is for a simulator that runs as a separate process. Nothing protects it.
//
//	GET    /simulator/stats                      counters, see [Stats]
//	GET    /simulator/calls                      the call log, see [Call]
//	GET    /simulator/state                      clusters, their pools, and instances
//	POST   /simulator/faults                     inject a [Fault], or a list of them
//	DELETE /simulator/faults                     end all faults
//	POST   /simulator/instances/{id}/lose        take an instance away; ?replaced=false: LKE does not notice
//	GET    /simulator/linodes                    Linodes of no LKE pool, and how they joined: see [Linode]
//	POST   /simulator/linodes/{id}/restart       start the kubelet of such a Linode again
//	POST   /simulator/assets                     give the account images and the like: see [AssetSet]
//	POST   /simulator/stock                      sell out or restock a plan in a region: a row of regions/availability
//	POST   /simulator/maintenance                announce maintenance of a host: see [Work]
//	DELETE /simulator/maintenance/{id}           cancel what is announced for a Linode
//	POST   /simulator/reset                      counters to zero, call log empty
func (s *Simulator) controls() *http.ServeMux {
	mux := http.NewServeMux()
	byID := func(pattern string, do func(id int, r *http.Request) (found bool)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			id, _ := strconv.Atoi(r.PathValue("id"))
			answerDone(w, r, do(id, r))
		})
	}
	mux.HandleFunc("GET /simulator/stats", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Stats()) })
	mux.HandleFunc("GET /simulator/calls", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Calls()) })
	mux.HandleFunc("GET /simulator/state", s.controlState)
	mux.HandleFunc("POST /simulator/faults", s.controlInject)
	mux.HandleFunc("DELETE /simulator/faults", func(w http.ResponseWriter, r *http.Request) {
		s.ClearFaults()
		answerDone(w, r, true)
	})
	byID("POST /simulator/instances/{id}/lose", func(id int, r *http.Request) bool {
		return s.LoseInstance(id, r.URL.Query().Get("replaced") != "false")
	})
	mux.HandleFunc("POST /simulator/assets", func(w http.ResponseWriter, r *http.Request) {
		var set AssetSet
		if readBody(w, r, &set) {
			writeJSON(w, s.AddAssets(set))
		}
	})
	mux.HandleFunc("GET /simulator/linodes", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, append([]Linode{}, s.Linodes()...))
	})
	byID("POST /simulator/linodes/{id}/restart", func(id int, _ *http.Request) bool { return s.RestartKubelet(id) })
	mux.HandleFunc("POST /simulator/stock", func(w http.ResponseWriter, r *http.Request) {
		var row catalog.Availability
		if readBody(w, r, &row) {
			answerDone(w, r, s.SetStock(row))
		}
	})
	mux.HandleFunc("POST /simulator/maintenance", s.controlAnnounce)
	byID("DELETE /simulator/maintenance/{id}", func(id int, _ *http.Request) bool { return s.Unannounce(id, "canceled") })
	mux.HandleFunc("POST /simulator/reset", func(w http.ResponseWriter, r *http.Request) {
		s.Reset()
		answerDone(w, r, true)
	})
	return mux
}

func (s *Simulator) controlState(w http.ResponseWriter, _ *http.Request) {
	clusters := s.Clusters()
	pools := map[int][]Pool{}
	for _, c := range clusters {
		pools[c.ID] = s.PoolsOf(c.ID)
	}
	writeJSON(w, map[string]any{
		"clusters": clusters, "pools": pools, "instances": s.Instances(), "machine_ids": s.machineIDs(),
	})
}

func (s *Simulator) controlInject(w http.ResponseWriter, r *http.Request) {
	body := bufio.NewReader(r.Body)
	r.Body = io.NopCloser(body)
	faults := make([]Fault, 1)
	var into any = &faults[0]
	if first, err := body.Peek(1); err == nil && first[0] == '[' {
		into = &faults
	}
	if !readBody(w, r, into) {
		return
	}
	for _, f := range faults {
		if err := s.Inject(f); err != nil {
			writeError(w, http.StatusBadRequest, err)
			return
		}
	}
	answerDone(w, r, true)
}

// readBody reads the body of a call, and reports whether it is valid. It rejects unknown keys.
func readBody(w http.ResponseWriter, r *http.Request, into any) bool {
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxRequest))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err != nil {
		writeError(w, http.StatusBadRequest, err)
	}
	return err == nil
}

// answerDone answers a call without a result; found reports whether the object of the path exists.
func answerDone(w http.ResponseWriter, r *http.Request, found bool) {
	if found {
		writeJSON(w, struct{}{})
	} else {
		writeError(w, http.StatusNotFound, fmt.Errorf("%s: there is none", r.URL.Path))
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(v)
}

func writeError(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorBody([]fieldError{{Reason: err.Error()}}))
}
