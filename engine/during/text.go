package during

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/engine/timing"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Period describes when a window is active: Mon-Fri 20:00 UTC for 10h. A schedule that is not about days of the week keeps
// its cron notation: "0 20 1 * *" UTC for 10h.
func Period(w manifest.DuringWindow) string {
	zone := "UTC"
	if w.TimeZone != "" {
		zone = w.TimeZone
	}
	lasts := w.Duration
	if d, err := time.ParseDuration(w.Duration); err == nil {
		lasts = timing.WriteDuration(d)
	}
	return fmt.Sprintf("%s %s for %s", startOf(w.Schedule), zone, lasts)
}

var daily = regexp.MustCompile(`^([0-5]?[0-9]) ([01]?[0-9]|2[0-3]) \* \* ([A-Za-z*,-]+)$`)

func startOf(schedule string) string {
	m := daily.FindStringSubmatch(strings.Join(strings.Fields(schedule), " "))
	if m == nil {
		return fmt.Sprintf("%q", schedule)
	}
	days := "daily"
	if m[3] != "*" {
		days = title(m[3])
	}
	return fmt.Sprintf("%s %02s:%02s", days, m[2], m[1])
}

// title writes names of days with capitals: Mon-Fri.
func title(days string) string {
	upper, out := true, []rune(strings.ToLower(days))
	for i, r := range out {
		if upper {
			out[i] = []rune(strings.ToUpper(string(r)))[0]
		}
		upper = r == '-' || r == ','
	}
	return string(out)
}
