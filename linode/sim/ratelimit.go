package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RateLimit is how many calls are answered, for each token; 0 is no limit. Linode counts GETs of lists apart from
// everything else, both in a minute, and again apart the creations of Linodes, in 15 seconds.
type RateLimit struct {
	Lists   int
	Calls   int
	Creates int
}

// documented is what Linode's page on rate limits says. The limit for lists was not visible in any recorded LKE answer.
var documented = RateLimit{Lists: 200, Calls: 1600, Creates: 20}

// ParseRateLimit reads "off", "documented" (200 lists and 1600 other calls a minute, 20 Linodes made in 15 seconds), or
// "N/min" for lists and other calls alike.
func ParseRateLimit(s string) (RateLimit, error) {
	switch s {
	case "off", "":
		return RateLimit{}, nil
	case "documented":
		return documented, nil
	}
	number, ok := strings.CutSuffix(s, "/min")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 {
		return RateLimit{}, fmt.Errorf("rate limit %q: want off, documented, or N/min", s)
	}
	return RateLimit{Lists: n, Calls: n, Creates: documented.Creates}, nil
}

// bucket is a kind of calls that Linode counts together.
type bucket struct {
	window    time.Duration
	limit     func(RateLimit) int
	unlimited int // what the headers say if no limit is configured: most recordings of 2026 have this number
}

var (
	bucketLists   = &bucket{time.Minute, func(l RateLimit) int { return l.Lists }, 1840}
	bucketCalls   = &bucket{time.Minute, func(l RateLimit) int { return l.Calls }, 1840}
	bucketCreates = &bucket{15 * time.Second, func(l RateLimit) int { return l.Creates }, 20}
)

// bucket is the one that a call counts in.
func (rt route) bucket() *bucket {
	switch {
	case rt.creates:
		return bucketCreates
	case rt.list:
		return bucketLists
	default:
		return bucketCalls
	}
}

// limiter counts calls in windows of one length for each token. That the windows are fixed, begin with the first call,
// and that Retry-After counts down to their end on every answer and not only on 429, was observed on the real API.
type limiter struct {
	limit   RateLimit
	windows map[windowKey]*window
}

type windowKey struct {
	token  string
	bucket *bucket
}

type window struct {
	ends time.Time
	used int
}

// quota is what a call's headers say of its limit.
type quota struct {
	limit, remaining int
	ends             time.Time
	exceeded         bool
}

func (l *limiter) take(token string, b *bucket, now time.Time) quota {
	limit := b.limit(l.limit)
	w := l.window(windowKey{token, b}, now)
	if limit == 0 {
		return quota{limit: b.unlimited, remaining: b.unlimited - 1, ends: w.ends}
	}
	if w.used >= limit {
		return quota{limit: limit, ends: w.ends, exceeded: true}
	}
	w.used++
	return quota{limit: limit, remaining: limit - w.used, ends: w.ends}
}

func (l *limiter) window(key windowKey, now time.Time) *window {
	if w := l.windows[key]; w != nil && w.ends.After(now) {
		return w
	}
	for other, w := range l.windows {
		if !w.ends.After(now) {
			delete(l.windows, other)
		}
	}
	w := &window{ends: now.Add(key.bucket.window)}
	l.windows[key] = w
	return w
}

func (q quota) writeTo(h http.Header, now time.Time) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(q.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(q.remaining))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(ceilSeconds(q.ends.Sub(time.Unix(0, 0))), 10))
	h.Set("Retry-After", strconv.FormatInt(ceilSeconds(q.ends.Sub(now)), 10))
}

func ceilSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
