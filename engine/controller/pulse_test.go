package controller

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestAProcessThatStoodStillSendsNothing: neither a call that waited meanwhile, nor one that
// is decided before the process has ended.
func TestAProcessThatStoodStillSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPulse()
		if err := p.Alive(); err != nil {
			t.Errorf("before it leads: %v", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- p.Start(t.Context()) }()
		time.Sleep(time.Hour)
		if err := p.Alive(); err != nil {
			t.Errorf("after an hour: %v", err)
		}
		p.mu.Lock()
		p.last = p.last.Add(-20 * time.Second) // as if no beat had come for so long
		p.mu.Unlock()
		if p.Alive() == nil {
			t.Error("it goes on after 20 s without a beat")
		}
		if err := <-ended; err == nil {
			t.Error("it does not end")
		}
		if p.Alive() == nil {
			t.Error("it sends something before it has ended")
		}
	})
}
