package instance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// calls are the ways in which Linode fails.
func calls() []sim.Fault {
	late := func(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
	const all = "/linode/instances"
	return []sim.Fault{
		{Method: "POST", Path: all, Chance: 0.06, Lost: true},
		{Method: "POST", Path: all, Chance: 0.04, Hang: true, AfterWork: true},
		{Method: "POST", Path: all, Chance: 0.04, Status: 504, Late: late(20 * time.Second)},
		{Method: "POST", Path: all, Chance: 0.04, Status: 504, Late: late(119 * time.Second)},
		{Method: "POST", Path: all, Chance: 0.03, Status: 502, Body: "<html>no</html>"},
		{Method: "POST", Path: all, Chance: 0.02, Status: 429},
		{Method: "POST", Path: all, Chance: 0.02, Status: 400, Body: "Linode busy."},
		{Method: "POST", Path: all, Chance: 0.01, Status: 400, Body: "Account Limit reached."},
		{Method: "POST", Path: all, Chance: 0.01, Status: 401, Body: "Invalid Token"},
		{Method: "GET", Path: all, Chance: 0.03, Status: 500},
		{Method: "GET", Path: all, Chance: 0.01, Hang: true},
		{Method: "GET", Path: all + "/*", Chance: 0.05, Status: 503},
		{Method: "DELETE", Path: all + "/*", Chance: 0.05, Lost: true},
		{Method: "DELETE", Path: all + "/*", Chance: 0.05, Status: 500},
		{Method: "DELETE", Path: all + "/*", Chance: 0.05, Status: 504, Late: late(time.Minute)},
		{Method: "DELETE", Path: all + "/*", Chance: 0.05, Ignored: true},
	}
}
