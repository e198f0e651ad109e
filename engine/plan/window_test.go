package plan

import (
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/config"
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
