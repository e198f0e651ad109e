package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RateLimit is the number of calls that are answered, for each token; 0 means no limit. Linode counts GETs of lists
// and all other calls separately, both per minute, and creations of Linodes in addition, per 15 seconds.
type RateLimit struct {
	Lists   int
	Calls   int
	Creates int
}

// documented has the numbers of Linode's page on rate limits. No recorded LKE answer shows the limit for lists.
var documented = RateLimit{Lists: 200, Calls: 1600, Creates: 20}

// ParseRateLimit reads "off", "documented" (200 lists and 1600 other calls a minute, 20 new Linodes in 15 seconds),
// or "N/min" for both lists and other calls.
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
	unlimited int // the headers show this number if no limit is configured, as in most recordings of 2026
}

var (
	bucketLists   = &bucket{time.Minute, func(l RateLimit) int { return l.Lists }, 1840}
	bucketCalls   = &bucket{time.Minute, func(l RateLimit) int { return l.Calls }, 1840}
	bucketCreates = &bucket{15 * time.Second, func(l RateLimit) int { return l.Creates }, 20}
)

// bucket returns the bucket in which a call counts.
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

// limiter counts calls of each token in windows of one length. On the real API it was observed that the windows are
// fixed and begin with the first call, and that Retry-After counts down to their end on every answer, not only on
// 429.
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

// quota is the state of a limit for the headers of a call.
type quota struct {
	limit, remaining int
	ends             time.Time
	exceeded         bool
}

func (l *limiter) count(token string, b *bucket, now time.Time) quota {
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
