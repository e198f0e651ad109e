package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

var farFuture = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// took returns how long n requests of a bucket had to wait in all.
func took(t *testing.T, l *limiter, b bucket, n int) time.Duration {
	t.Helper()
	start := time.Now()
	for range n {
		if err := l.wait(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(start)
}

func TestLimiterKeepsToTheDocumentedLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		if d := took(t, l, bucketList, 200); d != 0 {
			t.Errorf("200 lists waited %s", d)
		}
		if d := took(t, l, bucketList, 1); d != time.Minute {
			t.Errorf("the 201st list waited %s, want a minute", d)
		}
		if d := took(t, l, bucketOther, 100); d != 0 {
			t.Errorf("other requests waited %s for lists", d)
		}
	})
}

func TestLimiterLearnsFromHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		took(t, l, bucketList, 1)
		reset := strconv.FormatInt(time.Now().Add(20*time.Second).Unix(), 10)
		l.update(bucketList, 200, header("X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "2", "X-RateLimit-Reset", reset))
		if d := took(t, l, bucketList, 2); d != 0 {
			t.Errorf("the remaining two waited %s", d)
		}
		if d := took(t, l, bucketList, 1); d < 20*time.Second || d > time.Minute {
			t.Errorf("the next waited %s, want until the window ends", d)
		}
		if d := took(t, l, bucketList, 4); d != 0 {
			t.Errorf("the new window's requests waited %s", d)
		}
		if d := took(t, l, bucketList, 1); d == 0 {
			t.Error("a sixth request went out in a window of five")
		}
	})
}

func TestLimiterTakesAHigherLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		took(t, l, bucketList, 1)
		l.update(bucketList, 200, header("X-RateLimit-Limit", "1840"))
		if d := took(t, l, bucketList, 1800); d != 0 {
			t.Errorf("1800 lists waited %s under a limit of 1840", d)
		}
	})
}

func TestLimiterKeepsQuietAfter429(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    func() http.Header
		want time.Duration
	}{
		{"as long as Retry-After says", func() http.Header { return header("Retry-After", "7") }, 7 * time.Second},
		{"until the reset", func() http.Header {
			return header("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(30*time.Second).Unix(), 10))
		}, 30 * time.Second},
		{"for a while where nothing is said", func() http.Header { return header() }, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter()
				l.update(bucketOther, 429, tt.h())
				if d := took(t, l, bucketOther, 1); d != tt.want {
					t.Errorf("waited %s, want %s", d, tt.want)
				}
			})
		})
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		l.update(bucketOther, 429, header("Retry-After", "3600"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := l.wait(ctx, bucketOther); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v, want the context's", err)
		}
		if d := time.Since(start); d != time.Second {
			t.Errorf("waited %s after the context had ended", d)
		}
	})
}

// TestLowPriorityRequestsLeaveQuota: callers that only read must not use up the quota that the
// next machine needs.
func TestLowPriorityRequestsLeaveQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		began := time.Now()
		ctx, cancel := context.WithTimeout(LowPriority(t.Context()), time.Second)
		defer cancel()
		sent := 0
		for l.wait(ctx, bucketList) == nil {
			sent++
		}
		if sent != 134 || time.Since(began) != time.Second {
			t.Errorf("%d low-priority requests were sent of 200, in %s", sent, time.Since(began))
		}
		if d := took(t, l, bucketList, 66); d != 0 {
			t.Errorf("others waited %s", d)
		}
	})
}

// TestNoAnswerStopsAllWorkForHours: no header has that effect.
func TestNoAnswerStopsAllWorkForHours(t *testing.T) {
	inAnHour := func() string { return strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10) }
	for name, tt := range map[string]struct {
		status int
		header func() http.Header
	}{
		"Retry-After":   {429, func() http.Header { return header("Retry-After", "3600") }},
		"a huge number": {429, func() http.Header { return header("Retry-After", "9223372036854775807") }},
		"the reset":     {429, func() http.Header { return header("X-RateLimit-Reset", inAnHour()) }},
		"nothing is left": {200, func() http.Header {
			return header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", inAnHour())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter()
				if asked := l.update(bucketOther, tt.status, tt.header()); asked < time.Hour && tt.status == 429 {
					t.Errorf("the answer asked for %s", asked)
				}
				if d := took(t, l, bucketOther, 1); d != longestPause {
					t.Errorf("waited %s, want %s", d, longestPause)
				}
			})
		})
	}
}
