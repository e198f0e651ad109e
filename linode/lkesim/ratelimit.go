package lkesim

import (
	"fmt"
	"strconv"
	"strings"
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
