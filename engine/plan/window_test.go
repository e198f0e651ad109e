package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/schedule"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

func period(schedule string, lasts time.Duration) config.Period {
	return config.Period{Name: "p", Schedule: schedule, Duration: lasts}
}

func TestWhenChangesMayBegin(t *testing.T) {
	nights := period("0 22 * * *", 6*time.Hour)
	sundays := period("0 6 * * sun", 12*time.Hour)
	weekend := period("0 16 * * fri", 64*time.Hour) // until Monday, 8:00
	const never = ""
	for _, tt := range []struct {
		name             string
		windows, freezes []config.Period
		now, want        string
	}{
		{"no windows", nil, nil, "Wed 18 12:00", "Wed 18 12:00"},
		{"before a window", []config.Period{nights}, nil, "Wed 18 12:00", "Wed 18 22:00"},
		{"at its beginning", []config.Period{nights}, nil, "Wed 18 22:00", "Wed 18 22:00"},
		{"in it, after midnight", []config.Period{nights}, nil, "Thu 19 03:59", "Thu 19 03:59"},
		{"at its end", []config.Period{nights}, nil, "Thu 19 04:00", "Thu 19 22:00"},
		{"the first of several", []config.Period{sundays, nights}, nil, "Wed 18 12:00", "Wed 18 22:00"},
		{"in one of several", []config.Period{nights, sundays}, nil, "Sun 22 12:00", "Sun 22 12:00"},
		{"a freeze", nil, []config.Period{weekend}, "Sat 21 12:00", "Mon 23 08:00"},
		{"a window within a freeze is passed over", []config.Period{sundays}, []config.Period{weekend}, "Wed 18 12:00", never},
		{"a window that goes on after a freeze", []config.Period{nights}, []config.Period{period("0 20 * * *", 4*time.Hour)},
			"Wed 18 12:00", "Thu 19 00:00"},
		{"freezes one after the other", nil, []config.Period{weekend, period("0 8 * * mon", 2*time.Hour)}, "Sat 21 12:00", "Mon 23 10:00"},
		{"a window that never comes", []config.Period{period("0 0 30 2 *", time.Hour)}, nil, "Wed 18 12:00", never},
		{"a freeze that never ends", nil, []config.Period{period("* * * * *", time.Hour)}, "Wed 18 12:00", never},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := WindowOpens(tt.windows, tt.freezes, at(t, tt.now))
			if err != nil {
				t.Fatal(err)
			}
			want := time.Time{}
			if tt.want != never {
				want = at(t, tt.want)
			}
			if !got.Equal(want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// at is a moment of November 2026.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse("Mon 2 15:04 2006-01", text+" 2026-11")
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestABadScheduleIsAnError(t *testing.T) {
	if got, err := WindowOpens([]config.Period{period("never", time.Hour)}, nil, time.Now()); err == nil {
		t.Errorf("it opens at %v", got)
	}
}

// TestShownTimeIsWhenNodesGo: for drawn budgets, windows and freezes the time in the plan is the first minute at which the
// guards let the change be applied, and from then on Karpenter's budgets let a node go.
func TestShownTimeIsWhenNodesGo(t *testing.T) {
	draws := nightly.Or(40, 200)
	crons := []string{"0 22 * * *", "0 6 * * sun", "30 */7 * * *", "0 16 * * fri", "0 0 1-7 * mon", "0 0 1 * *", "*/5 9-17 * * mon-fri", "0 2 29 3 *"}
	lasts := []time.Duration{5 * time.Minute, time.Hour, 8 * time.Hour, 23 * time.Hour, 64 * time.Hour}
	goes := 0
	for seed := range uint64(draws) {
		r := rand.New(rand.NewPCG(seed, 4))
		draw := func(most int) (all []config.Period) {
			for i := range r.IntN(most + 1) {
				all = append(all, config.Period{Name: fmt.Sprint(i), Schedule: crons[r.IntN(len(crons))], Duration: lasts[r.IntN(len(lasts))]})
			}
			return all
		}
		guards := config.Guards{Windows: draw(2), Freezes: draw(2)}
		var budgets []any
		for _, p := range draw(3) {
			budgets = append(budgets, map[string]any{"nodes": []string{"0", "0", "10%", "2"}[r.IntN(4)], "schedule": p.Schedule, "duration": p.Duration.String()})
		}
		pool := poolWith(t, budgets...)
		now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(365*24*60)) * time.Minute)
		at := func(now time.Time) (Plan, []Verdict) {
			pace, err := PaceOf(pool, 9, 0, 9, now)
			if err != nil {
				t.Fatal(err)
			}
			p := Plan{Now: now, Changes: []Change{{Kind: "NodePool", Action: Update, Effect: Roll,
				Impact: &Impact{Known: true, Of: 9, Rolled: 9, Pace: pace}}}}
			verdicts, err := p.Judge(Bounds{Guards: guards})
			if err != nil {
				t.Fatal(err)
			}
			return p, verdicts
		}
		p, verdicts := at(now)
		pace, passes := p.Changes[0].Impact.Pace, func(verdicts []Verdict) bool {
			return !slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Status == Waiting })
		}
		active := func(periods []config.Period, minute time.Time) bool {
			return slices.ContainsFunc(periods, func(p config.Period) bool {
				s, err := cron.ParseStandard(p.Schedule)
				return err == nil && !s.Next(minute.Add(-p.Duration)).After(minute)
			})
		}
		applied, first := time.Time{}, time.Time{}
		for minute := now; minute.Before(now.AddDate(0, 0, 45)) && first.IsZero(); minute = minute.Add(time.Minute) {
			if applied.IsZero() && !active(guards.Freezes, minute) && (len(guards.Windows) == 0 || active(guards.Windows, minute)) {
				applied = minute
			}
			if !applied.IsZero() {
				if n, err := pool.GetAllowedDisruptionsByReason(schedule.ClockAt(minute), 9, karpv1.DisruptionReasonDrifted); err == nil && n > 0 {
					first = minute
				}
			}
		}
		shown := pace.Next
		if shown.IsZero() && !pace.Never {
			shown = now
		}
		if first.IsZero() {
			if !pace.Never && shown.Before(now.AddDate(0, 0, 45)) {
				t.Errorf("seed %d: at %s the plan shows %s, and no node goes for 45 days", seed, now, shown)
			}
			continue
		}
		if goes++; pace.Never || !shown.Equal(first) {
			t.Errorf("seed %d: at %s the plan shows %s (never %t), and the first node goes at %s", seed, now, shown, pace.Never, first)
		}
		for _, v := range verdicts {
			if v.Status == Waiting && !v.Until.Equal(applied) {
				t.Errorf("seed %d: the verdict %s waits until %s, want %s", seed, v.Guard, v.Until, applied)
			}
		}
		if _, then := at(applied); !passes(then) {
			t.Errorf("seed %d: the guards still wait at %s", seed, applied)
		}
		if _, then := at(applied.Add(-time.Minute)); applied.After(now) && passes(then) {
			t.Errorf("seed %d: the guards pass before %s", seed, applied)
		}
	}
	if goes < draws/2 {
		t.Errorf("in %d of %d draws a node goes", goes, draws)
	}
}
