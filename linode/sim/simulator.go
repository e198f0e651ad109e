// Package sim plays the Linode API for LKE: an account with clusters, node pools and instances behind an HTTP
// handler, and, where an API server is at hand, the nodes that join it. It plays Linodes that are made one by one
// as well, and what they do on their own after booting. It is for tests, where it needs no listener and no
// real time, and for the sandbox.
//
// It answers as recorded traffic of the real API does. What was never recorded is an assumption, and a comment marks
// it. It knows neither Karpenter nor the provider that it serves, runs no workload, and never calls out
// of the process; its control API under /simulator/ is not protected, so serve it on loopback only.
//
// State moves on only when it is read: each call first does what was due by then. So the handler has no
// separate goroutine and runs under testing/synctest unchanged.
package sim

import (
	"net/http"
	"sync"
	"time"
)

// Simulator is one Linode account. It is safe for concurrent use.
type Simulator struct {
	cfg     Config
	first   int // the cluster of the configuration; 0: none
	handler http.Handler

	mu       sync.Mutex // guards the rest
	state    *state
	limiter  limiter
	log      *callLog
	watchers []chan<- struct{}
}

// New makes an account with one cluster, or none, and no pools.
func New(cfg Config) (*Simulator, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Simulator{
		cfg:     cfg,
		state:   newState(cfg),
		limiter: limiter{limit: cfg.RateLimit, windows: map[windowKey]*window{}},
		log:     newCallLog(),
	}
	s.handler = s.root()
	if !cfg.WithoutCluster {
		s.first = s.state.addCluster(cfg.cluster(), time.Now()).ID
	}
	return s, nil
}

// ServeHTTP answers the Linode API under /v4 and /v4beta, and the control API under /simulator/.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", time.Now().Add(s.cfg.ClockAhead).UTC().Format(http.TimeFormat))
	s.handler.ServeHTTP(w, r)
}

func (s *Simulator) root() http.Handler {
	mux, api := http.NewServeMux(), s.routes()
	mux.Handle("/v4/", http.StripPrefix("/v4", api))
	mux.Handle("/v4beta/", http.StripPrefix("/v4beta", api))
	mux.Handle("/simulator/", s.controls())
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write(errorBody(notFound().errs))
	})
	return mux
}

// Config returns the configuration with what [New] filled in.
func (s *Simulator) Config() Config { return s.cfg }

// ClusterID is the id of the first cluster; 0 if there is none.
func (s *Simulator) ClusterID() int { return s.first }

// update runs read with the lock held and the state up to date.
func (s *Simulator) update(read func(st *state, now time.Time)) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.agenda.run(now)
	read(s.state, now)
}

// changed notifies those who play nodes that there may be something to do. Each has room for one message and needs no
// more.
func (s *Simulator) changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, watcher := range s.watchers {
		select {
		case watcher <- struct{}{}:
		default:
		}
	}
}
