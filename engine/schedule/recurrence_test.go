package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/lkeplan/lkeplan/engine/schedule"
)

// TestChangesAreThoseOfEachMinute: day by day, as cron decides it minute by minute.
func TestChangesAreThoseOfEachMinute(t *testing.T) {
	days := []string{"* * *", "* * mon-fri", "29 2 *", "1-7 * mon", "*/2 * mon", "31 * *", "* 3-5 *", "1 1 *", "30 2 *"}
	times := []string{"*", "0", "*/7", "30-40", "59"}
	lasts := []time.Duration{time.Minute, 3 * time.Minute, time.Hour, 9 * time.Hour, 25 * time.Hour, 400 * time.Hour, 8784 * time.Hour}
	for seed := range uint64(12) {
		r, long := rand.New(rand.NewPCG(seed, 1)), map[*cron.SpecSchedule]time.Duration{}
		var sets [][]schedule.Recurrence
		for range 1 + r.IntN(3) {
			var set []schedule.Recurrence
			for range 1 + r.IntN(2) {
				text := fmt.Sprintf("%s %s %s", times[r.IntN(len(times))], []string{"*", "0", "22", "*/5", "23"}[r.IntN(5)], days[r.IntN(len(days))])
				d := lasts[r.IntN(len(lasts))]
				p, err := schedule.Recur(text, d)
				if err != nil {
					t.Fatal(err)
				}
				set, long[p.SpecSchedule] = append(set, p), d
			}
			sets = append(sets, set)
		}
		from := time.Date(2027+r.IntN(2), time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
		limit := from.Add(5 * 24 * time.Hour)
		got := map[time.Time]string{}
		for at, active := range schedule.Changes(sets, from, limit) {
			got[at] = fmt.Sprint(active)
		}
		was := ""
		for at := from; at.Before(limit); at = at.Truncate(time.Minute).Add(time.Minute) {
			active := make([]bool, len(sets))
			for i, set := range sets {
				for _, p := range set {
					start := p.Next(at.Add(-long[p.SpecSchedule]))
					active[i] = active[i] || !start.IsZero() && !start.After(at)
				}
			}
			want, changed := fmt.Sprint(active), fmt.Sprint(active) != was
			if is, found := got[at]; found != changed || changed && is != want {
				t.Fatalf("seed %d: at %s it is %s (a change: %t), want %s (%t)", seed, at, is, found, want, changed)
			}
			was = want
		}
	}
}
