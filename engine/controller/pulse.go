package controller

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// longestStill is how long the process may have stood still before another may lead: the
// lease was renewed at most a few seconds before, and lasts 15 s.
const longestStill = 8 * time.Second

// pulse notices that the process has stood still: it was stopped, was frozen with its
// machine, or got no processor. What it has decided before is out of date then, and a call
// that was waiting must not be sent. The process ends, and the next life begins with what
// is true by then.
type pulse struct {
	mu   sync.Mutex
	last time.Time // of the wall clock, which goes on while a machine is frozen
	err  error
}

func newPulse() *pulse { return &pulse{} }

// Start implements manager.Runnable. It returns an error when the process has stood still.
func (p *pulse) Start(ctx context.Context) error {
	p.begin()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := p.beat(time.Now()); err != nil {
				return err
			}
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby may stand still.
func (p *pulse) NeedLeaderElection() bool { return true }

func (p *pulse) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now().Round(0)
}

// Alive is an error where the process has stood still since the last beat, or ever since.
func (p *pulse) Alive() error { return p.look(time.Now(), false) }

func (p *pulse) beat(now time.Time) error { return p.look(now, true) }

func (p *pulse) look(now time.Time, beat bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now = now.Round(0)
	if still := now.Sub(p.last); p.err == nil && !p.last.IsZero() && still > longestStill {
		p.err = fmt.Errorf("this process has stood still for %s, and another may lead by now", still.Round(time.Second))
	}
	if beat {
		p.last = now
	}
	return p.err
}
