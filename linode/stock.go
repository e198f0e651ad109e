package linode

import (
	"context"
	"log/slog"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Stock keeps the InstanceTypes up to date: with what the region says every few
// minutes of the plans that it does not always have, and with the price list of
// the day.
//
// What a region says is believed for an hour. Where no newer answer comes in
// that time, the price list alone counts again: a plan is rather tried in vain
// than left alone for ever.
type Stock struct {
	source StockSource
	types  *InstanceTypes
	log    *slog.Logger

	list     *catalog.Catalog // the price list that the answers are put into
	listed   time.Time
	believed time.Time // when the region answered last; zero where no answer counts
}

// StockSource is where plans and their availability are read.
type StockSource interface {
	Catalog(ctx context.Context) (*catalog.Catalog, error)
	Availability(ctx context.Context, region string) ([]catalog.Availability, error)
}

// How often the region and the price list are read, and how long an answer of
// the region counts.
const (
	stockEvery  = 5 * time.Minute
	listEvery   = 12 * time.Hour
	stockCounts = time.Hour
)

// NewStock returns what keeps types up to date, which were made from the list.
func NewStock(source StockSource, types *InstanceTypes, list *catalog.Catalog, log *slog.Logger) *Stock {
	return &Stock{source: source, types: types, log: log, list: list, listed: time.Now()}
}

// Start implements manager.Runnable.
func (s *Stock) Start(ctx context.Context) error {
	tick := time.NewTicker(stockEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.refresh(ctx)
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: who waits to
// lead knows the stock already.
func (s *Stock) NeedLeaderElection() bool { return false }

func (s *Stock) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	now := time.Now()
	if now.Sub(s.listed) >= listEvery {
		if list, err := s.source.Catalog(ctx); err == nil {
			s.list, s.listed = list, now
		} else {
			s.log.Warn("the price list could not be read; the one of before counts", "error", err)
		}
	}
	rows, err := s.source.Availability(ctx, s.types.region)
	switch {
	case err == nil:
		s.believed = now
		s.types.Refresh(s.list.WithAvailability(s.types.region, rows))
	case !s.believed.IsZero() && now.Sub(s.believed) >= stockCounts:
		s.believed = time.Time{}
		s.types.Refresh(s.list)
		s.log.Warn("the region has not said for an hour which plans it has; the price list alone counts", "error", err)
	default:
		s.log.Warn("the availability of plans could not be read", "region", s.types.region, "error", err)
	}
}
