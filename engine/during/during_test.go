package during_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// pool is a pool in its declared form, with limits of 400 CPUs outside of all windows.
func pool(t *testing.T, windows ...manifest.DuringWindow) map[string]any {
	t.Helper()
	obj, err := manifest.WithDuring(map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"limits": map[string]any{"cpu": "400"}},
	}, &manifest.During{Base: map[string]any{"spec.limits": map[string]any{"cpu": "400"}}, Windows: windows})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func window(name, schedule, duration, zone, cpu string) manifest.DuringWindow {
	return manifest.DuringWindow{Name: name, Schedule: schedule, Duration: duration, TimeZone: zone,
		Set: map[string]any{"spec.limits": map[string]any{"cpu": cpu}}}
}

func cpu(t *testing.T, obj map[string]any, at string) string {
	t.Helper()
	now, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	effective, _, err := during.At(obj, now)
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Text(effective, "spec", "limits", "cpu")
}

func TestClocksThatChange(t *testing.T) {
	const zone = "Europe/Berlin" // 29 March 2026: 02:00 becomes 03:00. 25 October 2026: 03:00 becomes 02:00.
	tests := []struct {
		name, schedule, duration, zone string
		at                             map[string]string
	}{
		{"starts on the clock", "0 20 * * *", "10h", zone, map[string]string{
			"2026-03-27T18:59:59Z": "400", "2026-03-27T19:00:00Z": "0", "2026-03-28T04:59:59Z": "0",
			"2026-03-28T05:00:00Z": "400",
			"2026-03-29T17:59:59Z": "400", "2026-03-29T18:00:00Z": "0",
		}},
		{"a night with 23 hours ends later on the clock", "0 20 * * *", "10h", zone, map[string]string{
			"2026-03-28T19:00:00Z": "0", "2026-03-29T04:59:59Z": "0", "2026-03-29T05:00:00Z": "400",
		}},
		{"a start that is skipped", "30 2 * * *", "1h", zone, map[string]string{
			"2026-03-29T00:59:59Z": "400", "2026-03-29T01:00:00Z": "0", "2026-03-29T01:59:59Z": "0",
			"2026-03-29T02:00:00Z": "400",
		}},
		{"a start that is repeated", "30 2 * * *", "20m", zone, map[string]string{
			"2026-10-25T00:30:00Z": "0", "2026-10-25T00:50:00Z": "400", "2026-10-25T01:30:00Z": "400",
			"2026-10-25T01:40:00Z": "400",
			"2026-10-26T01:30:00Z": "0",
		}},
		{"UTC has no changes", "0 20 * * mon-fri", "10h", "", map[string]string{
			"2026-03-27T20:00:00Z": "0", "2026-03-28T05:59:59Z": "0", "2026-03-28T06:00:00Z": "400",
			"2026-03-28T20:00:00Z": "400",
			"2026-03-30T20:00:00Z": "0",
		}},
		{"starts that overlap with themselves", "0 * * * *", "90m", "", map[string]string{
			"2026-03-27T20:10:00Z": "0", "2026-03-27T20:59:59Z": "0",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			obj := pool(t, window("night", test.schedule, test.duration, test.zone, "0"))
			for at, want := range test.at {
				if got := cpu(t, obj, at); got != want {
					t.Errorf("at %s: cpu %s, want %s", at, got, want)
				}
			}
		})
	}
}

// TestNextIsTheNextChange steps from one change to the next, and compares each second around it.
func TestNextIsTheNextChange(t *testing.T) {
	for _, zone := range []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		obj := pool(t, window("night", "0 20 * * mon-fri", "10h", zone, "0"), window("noon", "30 2 * * *", "45m", zone, "7"))
		now := time.Date(2026, 3, 20, 0, 0, 0, 0, time.UTC)
		for range 60 {
			_, s, err := during.At(obj, now)
			if err != nil || !s.Next.After(now) {
				t.Fatalf("%s at %s: next %s, %v", zone, now, s.Next, err)
			}
			_, before, _ := during.At(obj, s.Next.Add(-time.Second))
			_, after, _ := during.At(obj, s.Next)
			if !cmp.Equal(before.Active, s.Active) || cmp.Equal(after.Active, s.Active) {
				t.Fatalf("%s at %s: %v, then %v until %s, then %v", zone, now, s.Active, before.Active, s.Next, after.Active)
			}
			now = s.Next
		}
	}
}

// TestStartsMatchEachMinute compares with a clock that is looked at each minute, over two changes.
func TestStartsMatchEachMinute(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		zone := []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"}[random.IntN(4)]
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		hour, minute, lasts := random.IntN(24), random.IntN(60), 1+random.IntN(300)
		obj := pool(t, window("w", fmt.Sprintf("%d %d * * *", minute, hour), fmt.Sprintf("%dm", lasts), zone, "0"))
		for _, day := range []time.Time{
			time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC),
			time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		} {
			started, seen := time.Time{}, map[int]bool{}
			was := time.Time{}
			for at := day; at.Before(day.AddDate(0, 0, 3)); at = at.Add(time.Minute) {
				local := at.In(loc)
				clock := local.Hour()*60 + local.Minute()
				due := clock == hour*60+minute
				if !was.IsZero() { // the clock skipped it
					last := was.In(loc)
					from := last.Hour()*60 + last.Minute()
					due = due || last.Day() == local.Day() && from < hour*60+minute && hour*60+minute < clock
				}
				if due && !seen[local.YearDay()] {
					started, seen[local.YearDay()] = at, true
				}
				was = at
				if at.Sub(day) < 6*time.Hour {
					continue
				}
				active := !started.IsZero() && at.Before(started.Add(time.Duration(lasts)*time.Minute))
				if got := cpu(t, obj, at.Format(time.RFC3339)) == "0"; got != active {
					t.Fatalf("%02d:%02d in %s for %dm: active at %s (%s) is %t, want %t", hour, minute, zone, lasts, at, local, got,
						active)
				}
			}
		}
	}
}

func TestOverlaps(t *testing.T) {
	tests := []struct {
		a, b manifest.DuringWindow
		want string
	}{
		{window("a", "0 20 * * *", "10h", "", "0"), window("b", "0 6 * * *", "1h", "", "1"), ""},
		{window("a", "0 20 * * *", "10h", "", "0"), window("b", "59 5 * * *", "1h", "", "1"), "2026-01-01T05:59:00Z"},
		// Only while Berlin has summer time.
		{window("a", "0 20 * * *", "1h", "Europe/Berlin", "0"), window("b", "0 18 * * *", "1h", "", "1"),
			"2026-03-29T18:00:00Z"},
		{window("a", "0 0 29 2 *", "1h", "", "0"), window("b", "0 0 * * tue", "1h", "", "1"), "2028-02-29T00:00:00Z"},
		{window("a", "* * * * *", "1m", "", "0"), window("b", "0 0 1 1 *", "1s", "", "1"), "2027-01-01T00:00:00Z"},
	}
	for _, test := range tests {
		got := ""
		for _, o := range during.Overlaps(&manifest.During{Windows: []manifest.DuringWindow{test.a, test.b}}) {
			got = o.At.Format(time.RFC3339)
		}
		if got != test.want {
			t.Errorf("%s for %s and %s for %s overlap at %q, want %q", test.a.Schedule, test.a.Duration, test.b.Schedule,
				test.b.Duration, got, test.want)
		}
	}
}

// Windows that overlap after the years that the compiler checks never have values together that no guard has evaluated.
func TestWindowsOfTheSameFieldAreNotActiveTogether(t *testing.T) {
	other := window("b", "0 0 * * wed", "1h", "", "1")
	other.Set["spec.disruption.budgets"] = []any{map[string]any{"nodes": "100%"}}
	obj := pool(t, window("a", "0 0 1 1 *", "1h", "", "0"), other)
	_, s, err := during.At(obj, time.Date(2031, 1, 1, 0, 30, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, s.Active); diff != "" {
		t.Errorf("active windows (-want +got):\n%s", diff)
	}
}

func TestManualEditsAreNoSwitches(t *testing.T) {
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	night, day := time.Date(2026, 3, 27, 21, 0, 0, 0, time.UTC), time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	obj := pool(t, window("night", "0 20 * * *", "10h", "", "0"))
	set := func(cpu any) map[string]any {
		return manifest.WithField(obj, "spec.limits", map[string]any{"cpu": cpu}, true)
	}
	tests := []struct {
		name   string
		live   map[string]any
		at     time.Time
		edited func(string) bool
		paths  []string
		kept   []string
	}{
		{name: "due", live: set("400"), at: night, edited: none, paths: []string{"spec.limits"}},
		{name: "due, spelled otherwise", live: set(int64(400)), at: night, edited: none, paths: []string{"spec.limits"}},
		{name: "switched", live: set("0"), at: night, edited: none},
		{name: "switched, spelled otherwise", live: set(int64(0)), at: night, edited: none},
		{name: "back", live: set("0"), at: day, edited: none, paths: []string{"spec.limits"}},
		{name: "edited", live: set("100"), at: night, edited: none, kept: []string{"spec.limits"}},
		{name: "edited to a value of the blocks", live: set("400"), at: night, edited: all, kept: []string{"spec.limits"}},
		{name: "removed", live: manifest.WithField(obj, "spec.limits", nil, false), at: night, edited: none,
			kept: []string{"spec.limits"}},
	}
	for _, test := range tests {
		_, paths, _, err := during.Pending(test.live, test.at, kube.SameFields(test.live), test.edited)
		if err != nil || !cmp.Equal(paths, test.paths) {
			t.Errorf("%s: pending %v, %v, want %v", test.name, paths, err, test.paths)
		}
		_, kept, err := during.Declared(test.live, kube.SameFields(test.live), test.edited)
		if err != nil || !cmp.Equal(kept, test.kept) {
			t.Errorf("%s: edited %v, %v, want %v", test.name, kept, err, test.kept)
		}
	}
}

func TestPeriodsAreReadable(t *testing.T) {
	for want, w := range map[string]manifest.DuringWindow{
		"Mon-Fri 20:00 UTC for 10h":           {Schedule: "0 20 * * mon-fri", Duration: "10h"},
		"daily 08:05 Europe/Berlin for 1h30m": {Schedule: "5 8 * * *", Duration: "90m", TimeZone: "Europe/Berlin"},
		"Sat,Sun 00:00 UTC for 24h":           {Schedule: "0 0 * * SAT,SUN", Duration: "24h"},
		`"0 20 1 * *" UTC for 10h`:            {Schedule: "0 20 1 * *", Duration: "10h"},
		`"0 20 * * 1-5" UTC for 10h`:          {Schedule: "0 20 * * 1-5", Duration: "10h"},
		`"*/5 * * * *" UTC for 40s`:           {Schedule: "*/5 * * * *", Duration: "40s"},
	} {
		if got := during.Period(w); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestAlways: a block that starts again before it ends, or when it ends, is always active.
func TestAlways(t *testing.T) {
	for _, tt := range []struct {
		schedule, duration, zone string
		want                     bool
	}{
		{"0 20 * * *", "72h", "", true},
		{"0 20 * * *", "24h", "", true},
		{"0 20 * * *", "23h59m", "", false},
		{"0 20 * * *", "24h", "Europe/Berlin", false}, // one day has 25 hours
		{"0 20 * * *", "25h", "Europe/Berlin", true},
		{"0 20 * * mon-fri", "72h", "", true},
		{"0 20 * * mon-fri", "71h", "", false},
		{"* 20 * * *", "2h", "", false},
		{"* * * * *", "1m", "", true},
		{"* * * * *", "59s", "", false},
		{"0 0 1 1 *", "8784h", "", true},
		{"0 0 29 2 *", "8784h", "", false},
		{"never", "1h", "", false},
	} {
		if got := during.Always(window("a", tt.schedule, tt.duration, tt.zone, "0")); got != tt.want {
			t.Errorf("%s for %s in %q is always active: %v, want %v", tt.schedule, tt.duration, tt.zone, got, tt.want)
		}
	}
}
