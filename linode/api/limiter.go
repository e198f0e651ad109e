package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// bucket is a group of requests that the API counts together (API: "Rate
// limits"): lists in pages, new Linodes, and everything else.
type bucket int

const (
	bucketList bucket = iota
	bucketOther
	bucketCreate
	buckets
)

func bucketFor(req *http.Request) bucket {
	if req.Method == http.MethodGet && req.URL.Query().Has("page") {
		return bucketList
	}
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/linode/instances") {
		return bucketCreate
	}
	return bucketOther
}

// documented has the limits of the API's documentation per window and token. The headers of real answers sometimes
// differed (1840 on lists, 8 and 10 on new Linodes), so they are used only until the first answer with a limit.
var documented = [buckets]int{bucketList: 200, bucketOther: 1600, bucketCreate: 20}

// windows are the lengths of the rate limit periods.
var windows = [buckets]time.Duration{bucketList: time.Minute, bucketOther: time.Minute, bucketCreate: 15 * time.Second}

// limiter keeps requests within the limits. It grants the remaining requests of the current window and then
// makes callers wait for the next window.
type limiter struct {
	mu     sync.Mutex
	states [buckets]limitState
}

type limitState struct {
	limit     int       // requests in a window
	remaining int       // in the current window
	reset     time.Time // when the next window starts
	blocked   time.Time // after a 429: nothing is sent before
}

func newLimiter() *limiter {
	l := &limiter{}
	for b := range l.states {
		l.states[b].limit = documented[b]
	}
	return l
}

// wait returns when a request of the bucket may be sent, or ctx's error. An
// error means that nothing was sent.
func (l *limiter) wait(ctx context.Context, b bucket) error {
	low := ctx.Value(lowPriorityKey{}) != nil
	for {
		delay := l.take(b, low, time.Now())
		if delay <= 0 {
			return nil
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for the rate limit of the Linode API: %w", ctx.Err())
		}
	}
}

type lowPriorityKey struct{}

// LowPriority returns a context whose requests leave the last third of each rate limit to others, so that
// frequent reads do not delay requests that create machines.
func LowPriority(ctx context.Context) context.Context {
	return context.WithValue(ctx, lowPriorityKey{}, true)
}

// take uses up one request, or returns how long to wait before the next try.
func (l *limiter) take(b bucket, low bool, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.states[b]
	if now.Before(s.blocked) {
		return s.blocked.Sub(now)
	}
	if !now.Before(s.reset) {
		s.remaining, s.reset = s.limit, now.Add(windows[b])
	}
	if s.remaining <= 0 || low && s.remaining <= s.limit/3 {
		return s.reset.Sub(now)
	}
	s.remaining--
	return 0
}

// longestPause is the longest time without requests, even if an answer asks for more: one wrong header must not
// stop all work for hours. If the API insists, its next answer asks again.
const longestPause = 5 * time.Minute

// update reads the headers of an answer to a request of the bucket. Every header is optional: recorded answers have
// only the limit, or nothing. After a 429 it returns how long the answer asks to send nothing; the limiter obeys
// for at most longestPause.
func (l *limiter) update(b bucket, status int, h http.Header) (asked time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, now := &l.states[b], time.Now()
	if limit, ok := headerNumber(h, "X-RateLimit-Limit"); ok && limit > 0 && limit != s.limit {
		s.remaining += limit - s.limit
		s.limit = limit
	}
	reset, hasReset := headerNumber(h, "X-RateLimit-Reset")
	if left, ok := headerNumber(h, "X-RateLimit-Remaining"); ok && hasReset {
		// Answers arrive out of order: inside a window the smaller number is
		// the later one.
		at := time.Unix(int64(reset), 0)
		if latest := now.Add(longestPause); at.After(latest) {
			at = latest
		}
		if at.After(s.reset.Add(time.Second)) {
			s.remaining, s.reset = left, at
		} else {
			s.remaining = min(s.remaining, left)
		}
	}
	if status == http.StatusTooManyRequests {
		asked = quietTime(h, now, reset, hasReset)
		s.blocked = now.Add(min(asked, longestPause))
	}
	return asked
}

// quietTime returns how long to send nothing after a 429.
func quietTime(h http.Header, now time.Time, reset int, hasReset bool) time.Duration {
	if s, ok := headerNumber(h, "Retry-After"); ok {
		return time.Duration(min(s, 1<<31)) * time.Second
	}
	if at := time.Unix(int64(reset), 0); hasReset && at.After(now) {
		return at.Sub(now)
	}
	return 10 * time.Second
}

func headerNumber(h http.Header, key string) (int, bool) {
	n, err := strconv.Atoi(h.Get(key))
	return n, err == nil && n >= 0
}
