package lke

import (
	"context"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
)

// hint is a call that shows sooner what else is found out later, and that a token may not be allowed.
type hint struct {
	what      string        // it asks for
	scope     string        // it needs
	every     time.Duration // it is asked no more often than that
	notBefore time.Time
	logged    bool
}

// How long a hint rests after it was refused, or not answered, and how long its answer is waited for: the poll waits as
// long.
const (
	restRefused    = time.Hour
	restUnanswered = time.Minute
	hintTimeout    = 5 * time.Second
)

// read asks, unless the hint rests.
func (h *hint) read(ctx context.Context, f *Syncer, ask func(context.Context) error) {
	if time.Now().Before(h.notBefore) {
		return
	}
	limited, cancel := context.WithTimeout(api.LowPriority(ctx), hintTimeout)
	defer cancel()
	err := ask(limited)
	switch class := api.ClassOf(err); {
	case err == nil:
		h.notBefore = time.Now().Add(h.every)
	case ctx.Err() != nil:
	case class == api.ClassAuth:
		h.notBefore = time.Now().Add(restRefused)
		if !h.logged {
			h.logged = true
			f.cfg.Log.Info("the token cannot read "+h.what+"; lkeplan learns the same later", "scope", h.scope,
				"answer", err)
		}
	default:
		h.notBefore = time.Now().Add(restUnanswered)
		f.cfg.Log.Info("could not read "+h.what+"; lkeplan learns the same later", "class", class, "error", err)
	}
}

// failures returns what LKE has written of nodes that it could not make, if it can explain a slot that stays without an
// instance: one request for all pools of a poll.
func (f *Syncer) failures(ctx context.Context) (found []capacity.Failure) {
	var since time.Time
	var ask bool
	f.loop.Do(func(m *capacity.Memory, now time.Time) { since, ask = m.Doubts(now) })
	if !ask {
		return nil
	}
	f.events.read(ctx, f, func(ctx context.Context) error {
		failures, err := f.cfg.API.Failures(ctx, since)
		for _, failure := range failures {
			found = append(found, capacity.Failure(failure))
		}
		return err
	})
	return found
}

// offline returns which machines that have not joined are offline.
func (f *Syncer) offline(ctx context.Context) (found map[int]bool) {
	var unjoined []int
	f.loop.Do(func(m *capacity.Memory, now time.Time) { unjoined = m.Unjoined(now) })
	if len(unjoined) == 0 {
		return nil
	}
	f.power.read(ctx, f, func(ctx context.Context) (err error) {
		found, err = f.cfg.API.Offline(ctx, unjoined)
		return err
	})
	return found
}
