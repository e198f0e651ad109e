package lkesim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RateLimit is how many calls a minute are answered, for each token; 0 is no limit. Linode counts GETs of lists apart
// from everything else.
type RateLimit struct {
	Lists int
	Calls int
}

// documented is what Linode's page on rate limits says. The limit for lists was not visible in any recorded LKE answer.
var documented = RateLimit{Lists: 200, Calls: 1600}

// ParseRateLimit reads "off", "documented" (200 lists and 1600 other calls a minute), or "N/min" for both alike.
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
	return RateLimit{Lists: n, Calls: n}, nil
}

// unlimited is what the headers say where no limit is configured: most recordings of 2026 have this number.
const unlimited = 1840

// limiter counts calls in windows of one minute for each token. That the windows are fixed, begin with the first call,
// and that Retry-After counts down to their end on every answer and not only on 429, was observed on the real API.
type limiter struct {
	limit   RateLimit
	windows map[windowKey]*window
}

type windowKey struct {
	token string
	list  bool
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

func (l *limiter) take(token string, list bool, now time.Time) quota {
	limit := l.limit.Calls
	if list {
		limit = l.limit.Lists
	}
	w := l.window(windowKey{token, list}, now)
	if limit == 0 {
		return quota{limit: unlimited, remaining: unlimited - 1, ends: w.ends}
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
	w := &window{ends: now.Add(time.Minute)}
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
