// Package lkesim plays the Linode API for LKE: an account with clusters, node pools and instances behind an HTTP
// handler, and, where an API server is at hand, the nodes that join it. It is for tests, where it needs no listener
// and no real time, and for the sandbox.
//
// It answers as recorded traffic of the real API does. What nobody has recorded is an assumption, and the comment beside
// it says so. It knows nothing of Karpenter or of the provider that it serves, runs no workload, and never calls out
// of the process; its control API under /simulator/ is not protected, so serve it on loopback only.
//
// State moves on only when somebody looks: each call first settles what was due by then. So the handler has no
// goroutine of its own and runs under testing/synctest as it is.
package lkesim

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"k8s.io/client-go/kubernetes"
)

// Simulator is one Linode account. It is safe for concurrent use.
type Simulator struct {
	cfg Config
}

// New makes an account with one cluster and no pools.
func New(cfg Config) (*Simulator, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Simulator{cfg: cfg}, nil
}

// ServeHTTP answers the Linode API under /v4 and /v4beta, and the control API under /simulator/.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "not yet", http.StatusNotImplemented)
}

var errTodo = errors.New("not yet")

// Client returns a client whose calls are answered in this process, without a listener or a connection: any host
// name will do. It works under testing/synctest.
func (s *Simulator) Client() *http.Client { return nil }

// Config returns the configuration with what [New] filled in.
func (s *Simulator) Config() Config { return s.cfg }

// RunNodes plays the kubelets that join the first cluster and its cloud controller manager against an API server, until
// ctx ends; then it returns nil. log may be nil.
func (s *Simulator) RunNodes(ctx context.Context, c kubernetes.Interface, log *slog.Logger) error {
	return errTodo
}

// Inject makes something go wrong from now on.
func (s *Simulator) Inject(f Fault) error { return errTodo }

// ClearFaults ends all faults. Slots that stayed null for want of capacity get their instances.
func (s *Simulator) ClearFaults() {}

// Stats returns the counters.
func (s *Simulator) Stats() Stats { return Stats{} }

// Calls returns the last calls, oldest first.
func (s *Simulator) Calls() []Call { return nil }

// Reset sets the counters to zero, the peaks to what there is now, and forgets the call log.
func (s *Simulator) Reset() {}

// ClusterID is the id of the first cluster.
func (s *Simulator) ClusterID() int { return 0 }

// AddCluster makes another cluster in the account; of cfg only what describes the cluster counts.
func (s *Simulator) AddCluster(cfg Config) (Cluster, error) { return Cluster{}, errTodo }

// Clusters returns all clusters of the account.
func (s *Simulator) Clusters() []Cluster { return nil }

// Pools returns the pools of the first cluster, with what Enterprise does not list yet.
func (s *Simulator) Pools() []Pool { return nil }

// PoolsOf returns the pools of any cluster.
func (s *Simulator) PoolsOf(cluster int) []Pool { return nil }

// Instances returns all instances of the account, by id.
func (s *Simulator) Instances() []Instance { return nil }

// LoseInstance takes an instance away as a dying host does; LKE then makes another for its slot. It says whether there
// was one.
func (s *Simulator) LoseInstance(id int) bool { return false }

// AbandonInstance takes an instance away, and LKE does not notice: its slot stays without one. It says whether there
// was one.
func (s *Simulator) AbandonInstance(id int) bool { return false }
