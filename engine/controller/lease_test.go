package controller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock is a lease that is renewed as long as there is no error.
type lock struct {
	resourcelock.Interface
	err   error
	takes time.Duration
}

func (l *lock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	time.Sleep(l.takes)
	return l.err
}

// TestNothingIsSentAfterLeaseExpires: what counts is when the lease was renewed, not what
// the process believes.
func TestNothingIsSentAfterLeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := new(lease).Held(); err != nil {
			t.Errorf("without an election: %v", err)
		}
		server := &lock{takes: 4 * time.Second}
		l := &lease{Interface: server}
		if l.Held() == nil {
			t.Error("it sends before it leads")
		}
		mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
		if err := l.Update(t.Context(), mine); err != nil || l.Held() != nil {
			t.Fatalf("it leads: %v, %v", err, l.Held())
		}
		time.Sleep(8 * time.Second) // it gets no processor while the lease lasts
		if err := l.Held(); err != nil {
			t.Errorf("12 s after a renewal was requested: %v", err)
		}
		time.Sleep(time.Second)
		if l.Held() == nil {
			t.Error("it sends 13 s after a renewal was requested")
		}
		server.err = errors.New("another process has it")
		if err := l.Update(t.Context(), mine); err == nil || l.Held() == nil {
			t.Error("it sends although another process leads")
		}
		server.err = nil
		if err := l.Update(t.Context(), mine); err != nil || l.Held() != nil {
			t.Errorf("renewed: %v, %v", err, l.Held())
		}
		if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil || l.Held() == nil {
			t.Error("it sends after it has released the lease")
		}
	})
}
