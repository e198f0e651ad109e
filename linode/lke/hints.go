package lke

import (
	"context"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
)

// hint is an optional request for information that the poll would show later as well. The token may lack the scope
// for it.
type hint struct {
	what      string        // what it requests
	scope     string        // the scope of the token that it needs
	every     time.Duration // the shortest time between two requests
	notBefore time.Time
	logged    bool
}

// How long a hint pauses after it was refused or not answered, and the timeout of its request, during which the
// poll waits.
const (
	restRefused    = time.Hour
	restUnanswered = time.Minute
	hintTimeout    = 5 * time.Second
)

// read sends the request, unless the hint pauses.
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

// failures returns the events about nodes that LKE could not create, if a slot that stays without an instance needs
// an explanation. It sends one request for all pools.
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
