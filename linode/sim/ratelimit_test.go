package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestParseRateLimit(t *testing.T) {
	for text, want := range map[string]RateLimit{
		"": {}, "off": {}, "documented": {Lists: 200, Calls: 1600, Creates: 20},
		"30/min": {Lists: 30, Calls: 30, Creates: 20},
	} {
		if got, err := ParseRateLimit(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"30", "0/min", "-1/min", "x/min", "30/s", "on"} {
		if got, err := ParseRateLimit(text); err == nil {
			t.Errorf("%q: %+v; want an error", text, got)
		}
	}
}

func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{RateLimit: RateLimit{Lists: 2, Calls: 3}})
		begin := time.Now()
		seen := func(path, token string) string {
			t.Helper()
			res, _ := a.get(path, map[string]string{"Authorization": "Bearer " + token})
			h := res.Header
			reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
			if err != nil {
				t.Fatalf("reset: %v", err)
			}
			return fmt.Sprintf("%d %s of %s, retry %s, reset %s", res.StatusCode, h.Get("X-RateLimit-Remaining"),
				h.Get("X-RateLimit-Limit"), h.Get("Retry-After"), time.Unix(reset, 0).Sub(begin))
		}
		list, one := "/v4/lke/clusters", fmt.Sprintf("/v4/lke/clusters/%d", a.first)
		check := func(path, token, want string) {
			t.Helper()
			if got := seen(path, token); got != want {
				t.Errorf("%s: %s; want %s", path, got, want)
			}
		}
		check(list, "a", "200 1 of 2, retry 60, reset 1m0s")
		time.Sleep(14 * time.Second)
		check(list, "a", "200 0 of 2, retry 46, reset 1m0s")
		check(list, "a", "429 0 of 2, retry 46, reset 1m0s")
		check(one, "a", "200 2 of 3, retry 60, reset 1m14s") // another bucket
		check(list, "b", "200 1 of 2, retry 60, reset 1m14s")
		time.Sleep(46*time.Second - time.Millisecond)
		check(list, "a", "429 0 of 2, retry 1, reset 1m0s")
		time.Sleep(time.Millisecond)
		check(list, "a", "200 1 of 2, retry 60, reset 2m0s")
		if s := a.Stats(); s.ByStatus[http.StatusTooManyRequests] != 2 {
			t.Errorf("%+v", s.ByStatus)
		}
	})
}

// Without a limit the headers are there nevertheless, as on the real API: Retry-After on a 200 means nothing.
func TestNoRateLimit(t *testing.T) {
	a := newAccount(t, Config{})
	for range 3 {
		res, _ := a.get("/v4/lke/clusters", nil)
		if h := res.Header; h.Get("X-RateLimit-Limit") != "1840" || h.Get("X-RateLimit-Remaining") != "1839" ||
			h.Get("Retry-After") != "60" {
			t.Errorf("%v", h)
		}
	}
	if res, _ := a.get("/v4/lke/tiers/standard/versions", nil); res.Header.Get("X-RateLimit-Limit") != "" ||
		res.Header.Get("Retry-After") != "" {
		t.Errorf("%v", res.Header)
	}
}
