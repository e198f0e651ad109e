// Package sim simulates the Linode API for tests and for the sandbox: an account with LKE clusters, node pools, and
// separate Linodes. New returns a Simulator, which is an HTTP handler; Inject adds faults. With an API server,
// RunNodes also creates the nodes of machines that join. In tests it needs no listener and no real time.
//
// It answers as recorded traffic of the real API does. Behaviour that was never recorded is an assumption, and a
// comment marks it. It knows neither Karpenter nor the provider that it serves, runs no workload, and never calls
// out of the process; its control API under /simulator/ is not protected, so serve it on loopback only.
//
// The state changes only when it is read: each call first runs the events that are due. So the handler has no
// goroutine of its own and runs under testing/synctest unchanged.
package sim

import (
	"net/http"
	"sync"
	"time"
)

// Simulator is one Linode account. It is safe for concurrent use.
type Simulator struct {
	cfg     Config
	first   int // the cluster of the configuration; 0 if there is none
	handler http.Handler

	mu       sync.Mutex // guards the rest
	state    *state
	limiter  limiter
	log      *callLog
	watchers []chan<- struct{}
}

// New creates an account with one cluster, or none, and no pools.
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

// Config returns the configuration with the defaults that [New] has filled in.
func (s *Simulator) Config() Config { return s.cfg }

// ClusterID returns the id of the first cluster; 0 if there is none.
func (s *Simulator) ClusterID() int { return s.first }

// update runs read with the lock held, after the events that are due.
func (s *Simulator) update(read func(st *state, now time.Time)) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.agenda.run(now)
	read(s.state, now)
}

// changed notifies the simulated node programs that something may have changed. Each channel has room for one
// message, which is enough.
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
