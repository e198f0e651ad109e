package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// two is a price of two dollars an hour, and of ten at most in a month.
var two = catalog.Price{Hourly: 2 * catalog.Dollar, Monthly: 10 * catalog.Dollar}

// TestStartedHoursAreBilled, per machine and calendar month.
func TestStartedHoursAreBilled(t *testing.T) {
	day := func(text string) time.Time {
		at, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for name, test := range map[string]struct {
		from, until string
		hours       int
		dollars     catalog.Money
	}{
		"nothing":                               {"2026-11-02 10:00", "2026-11-02 10:00", 0, 0},
		"a minute":                              {"2026-11-02 10:00", "2026-11-02 10:01", 1, 2},
		"an hour":                               {"2026-11-02 10:59", "2026-11-02 11:59", 1, 2},
		"an hour and a minute":                  {"2026-11-02 10:59", "2026-11-02 12:00", 2, 4},
		"more than a month costs":               {"2026-11-02 10:00", "2026-11-03 10:00", 24, 10},
		"before the beginning is for nothing":   {"2026-10-01 00:00", "2026-11-01 01:30", 2, 4},
		"after the end, too":                    {"2026-12-02 23:30", "2027-03-01 00:00", 1, 2},
		"all of it":                             {"2026-11-01 00:00", "2026-12-03 00:00", 768, 20},
		"an hour of two months is of the first": {"2026-11-30 23:30", "2026-12-01 01:00", 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			life := Life{From: day(test.from), Until: day(test.until), Price: two}
			hours, cost := life.bill(day("2026-11-01 00:00"), day("2026-12-03 00:00"))
			if hours != test.hours || cost != test.dollars*catalog.Dollar {
				t.Errorf("%d hours for $%s, want %d for $%d", hours, cost, test.hours, test.dollars)
			}
		})
	}
}

// TestAnAccountAddsUpLives by pool and plan type.
func TestAnAccountAddsUpLives(t *testing.T) {
	at := func(hours float64) time.Time {
		return time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(hours * float64(time.Hour)))
	}
	got := billOf([]Life{
		{Pool: "web", Plan: "b", From: at(0), Until: at(4), Price: two},
		{Pool: "web", Plan: "a", From: at(-5), Until: at(1.5), Price: two},
		{Pool: "web", Plan: "b", From: at(3.9), Until: at(4), Price: two},
		{Pool: "web", Plan: "b", From: at(-9), Until: at(-1), Price: two}, // before the beginning
	}, at(0), at(4))
	want := Account{Began: 2, Launched: 1, Gone: 1, Hours: 7, Cost: 14 * catalog.Dollar, Plans: []PlanAccount{
		{Pool: "web", Plan: "a", Machines: 1, Hours: 2, Cost: 4 * catalog.Dollar},
		{Pool: "web", Plan: "b", Machines: 2, Hours: 5, Cost: 10 * catalog.Dollar},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
