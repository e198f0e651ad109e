package simulate_test

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

var paidNodes = flag.Int("nodes", nightly.Or(20, 60), "how many nodes the day of TestADayOfPaidHours has at most: 200 take four minutes of one core")

// TestADayOfPaidHours compares a day in which nodes come and go with the day, and with jobs every half an hour:
// the bill with nodes that are removed when they are empty, and with those that are removed when their paid hour ends.
func TestADayOfPaidHours(t *testing.T) {
	bill := func(consolidation string) simulate.Ledger {
		var timeline strings.Builder
		start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
		for minutes := 0; minutes <= 24*60; minutes += 15 {
			day := float64(*paidNodes) * (0.4 - 0.3*math.Cos(2*math.Pi*float64(minutes)/(24*60))) // pods of services
			jobs := 1 + *paidNodes*3/10*(minutes/15%2)                                            // pods of jobs, most of them for a quarter of an hour
			fmt.Fprintf(&timeline, "%s %dx3cpu,1Gi %dx3cpu,2Gi\n", start.Add(time.Duration(minutes)*time.Minute).
				Format("2006-01-02T15:04Z"), int(day), jobs)
		}
		ledger, err := simulate.Replay(t.Context(), timelineOf(t, &txtar.Archive{Files: []txtar.File{
			{Name: "timeline", Data: []byte(timeline.String())},
			{Name: "main.lke.hcl", Data: []byte(`
cluster {
  name   = "dev"
  region = "us-ord"
}

node_class "default" {
` + consolidation + `
}

pool "web" {
  node_class   = node_class.default
  requirements = { instance_type = "g6-standard-4" }
  disruption {
    consolidate_after = "2m"
    budget {
      nodes = "100%"
    }
  }
}
`)}}}))
		if err != nil {
			t.Fatal(err)
		}
		return ledger
	}
	usual, late := bill(""), bill("consolidation {\n    before_paid_hour_ends = \"10m\"\n  }\n")
	for name, l := range map[string]simulate.Ledger{"at any time": usual, "before the paid hour ends": late} {
		most := 0
		for _, row := range l.Moments {
			most = max(most, row.Nodes)
		}
		t.Logf("%s: %s for %d hours of %d machines, %d at a time; %.1f pod hours without a node", name, l.Would.Cost.Text(),
			l.Would.Hours, l.Would.Began+l.Would.Launched, most, l.PodHours)
	}
	if late.Would.Cost >= usual.Would.Cost || late.PodHours > usual.PodHours {
		t.Errorf("paid hours cost %s, and any time %s", late.Would.Cost.Text(), usual.Would.Cost.Text())
	}
}
