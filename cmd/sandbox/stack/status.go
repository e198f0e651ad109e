package stack

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
)

// Status is how a sandbox is at the moment.
type Status struct {
	*State
	// AllReady says that every component answers.
	AllReady bool              `json:"ready"`
	Health   map[string]string `json:"health"`
	// Simulator is what the Linode simulator counted; null if it does not answer.
	Simulator json.RawMessage `json:"simulator"`
}

// What a component's health can be, if it is not an error.
const (
	Healthy = "ready"
	Ended   = "ended"
)

// Status asks every component at the same time.
func (s *State) Status(ctx context.Context) Status {
	status := Status{State: s, AllReady: s.Ready(), Health: map[string]string{}}
	check := &checker{dir: layout(s.Dir), port: s.port, cluster: s.Cluster}
	unreachable := check.connect()
	var group sync.WaitGroup
	var mu sync.Mutex
	for _, name := range s.Names() {
		group.Go(func() {
			health := s.health(ctx, check, name, unreachable)
			mu.Lock()
			defer mu.Unlock()
			status.Health[name] = health
			status.AllReady = status.AllReady && health == Healthy
		})
	}
	group.Go(func() { status.Simulator = s.counters(ctx) })
	group.Wait()
	return status
}

func (s *State) health(ctx context.Context, check *checker, name string, unreachable error) string {
	c, _ := s.Component(name)
	if !c.Alive() {
		return Ended
	}
	if unreachable != nil {
		return unreachable.Error()
	}
	if err := check.check(ctx, name); err != nil {
		return err.Error()
	}
	return Healthy
}

// counters asks the simulator what it counted.
func (s *State) counters(ctx context.Context) json.RawMessage {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var stats json.RawMessage
	url := "http://" + address(s.port(linode, "api")) + "/simulator/stats"
	if err := get(ctx, http.DefaultClient, url, s.Cluster.LinodeToken, &stats); err != nil {
		return nil
	}
	return stats
}
