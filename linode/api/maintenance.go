package api

import (
	"context"
	"slices"
	"strings"
	"time"
)

// ScopeMaintenance is the scope of Maintenance, which a controller does not have to have.
const ScopeMaintenance = "account:read_only"

// Maintenance is work on the host of a Linode that Linode has announced and that has not ended.
type Maintenance struct {
	Linode    int       // its id
	Type      string    // as Linode names it: reboot, power_off_on, cold_migration, live_migration, ...
	Status    string    // pending, scheduled, started or in_progress
	Emergency bool      // Linode does not keep to the notice of the Linode's maintenance policy
	Start     time.Time // in UTC; zero if Linode names no time
}

// Started reports whether Linode says that the work has started.
func (m Maintenance) Started() bool { return m.Status == "started" || m.Status == "in_progress" }

// upcoming are the states of a maintenance that has not ended.
var upcoming = []string{"pending", "scheduled", "started", "in_progress"}

// Maintenance returns the maintenance of Linodes of the account that has not ended. It needs ScopeMaintenance, and is
// optional as Failures is.
//
// Unverified: that LKE's Linodes are listed.
func (c *Client) Maintenance(ctx context.Context) ([]Maintenance, error) {
	ctx = context.WithValue(ctx, optionalKey{}, true)
	var either []map[string]string
	for _, status := range upcoming {
		either = append(either, map[string]string{"status": status})
	}
	rows, err := getMatching(ctx, "list the maintenance of Linodes", map[string]any{"+or": either}, c.api.ListMaintenances)
	if err != nil {
		return nil, err
	}
	var found []Maintenance
	for _, r := range rows {
		status := strings.ReplaceAll(r.Status, "-", "_")
		if r.Entity == nil || r.Entity.Type != "linode" || r.Entity.ID == 0 || !slices.Contains(upcoming, status) {
			continue
		}
		found = append(found, Maintenance{
			Linode: r.Entity.ID, Type: r.Type, Status: status, Emergency: r.Description == "emergency",
			//lint:ignore SA1019 it is the only time that is never null
			Start: earliestTime(r.When, r.StartTime, r.NotBefore),
		})
	}
	return found, nil
}

// earliestTime returns the earliest of times, each of which may be nil.
func earliestTime(times ...*time.Time) (first time.Time) {
	for _, t := range times {
		if t != nil && !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t.UTC()
		}
	}
	return first
}
