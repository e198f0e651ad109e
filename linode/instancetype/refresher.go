package instancetype

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Refresher keeps the price list and a Set up to date. Every few minutes it reads which plan types
// the region has, and each hour the price list.
//
// An answer of the region is only a hint about stock, and counts for an hour. It does not withdraw a plan type.
type Refresher struct {
	source Source
	types  *Set // nil: only the price list is read
	log    *slog.Logger

	list     atomic.Pointer[catalog.Catalog] // the price list
	listRead time.Time
	answered time.Time // when the region answered last; zero if no answer counts
	account  Account   // nil means that the account is not asked
	known    bool      // the account has answered

	announce func(context.Context, []Repriced) // nil means that changed prices are not announced
}

// Announce sets the function that is called with the plan types whose price Linode has changed.
func (r *Refresher) Announce(repriced func(context.Context, []Repriced)) { r.announce = repriced }

// Prices is the price list that is in use.
func (r *Refresher) Prices() *catalog.Catalog { return r.list.Load() }

// Account returns the capabilities of the account.
type Account func(ctx context.Context) ([]string, error)

// Ask sets the function that returns the capabilities of the account; it is called if the region sells plans that
// need one. Until it has succeeded, these plans are not offered.
func (r *Refresher) Ask(account Account) {
	r.account = account
	if r.types.AccountMatters() {
		r.types.SetAccount(nil, "the account has not been read yet")
	}
}

// Source returns plan types and their availability.
type Source interface {
	Catalog(ctx context.Context) (*catalog.Catalog, error)
	Availability(ctx context.Context, region string) ([]catalog.Availability, error)
}

// How often the region and the price list are read, and how long an answer of
// the region counts.
const (
	availabilityEvery = 5 * time.Minute
	listEvery         = time.Hour
	availabilityFor   = time.Hour
)

// NewRefresher returns the Refresher of a Set that was made from list; types is nil if only the list is needed. If list is not
// fresh, because Linode did not answer, it is read again soon.
func NewRefresher(source Source, types *Set, list *catalog.Catalog, fresh bool, log *slog.Logger) *Refresher {
	r := &Refresher{source: source, types: types, log: log}
	r.list.Store(list)
	if fresh {
		r.listRead = time.Now()
	}
	return r
}

// Start implements manager.Runnable.
func (r *Refresher) Start(ctx context.Context) error {
	tick := time.NewTicker(availabilityEvery)
	defer tick.Stop()
	r.askAccount(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.refresh(ctx)
			r.askAccount(ctx)
		}
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a standby needs the lists as well, so that it can
// become the leader immediately.
func (r *Refresher) NeedLeaderElection() bool { return false }

func (r *Refresher) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	now := time.Now()
	if now.Sub(r.listRead) >= listEvery {
		if list, err := r.source.Catalog(ctx); err == nil {
			r.listRead = now
			r.update(ctx, list)
		} else {
			r.log.Warn("could not read the price list; the previous one stays in use", "error", err)
		}
	}
	if r.types == nil {
		return
	}
	region := r.types.Region()
	rows, err := r.source.Availability(ctx, region)
	switch {
	case err == nil:
		r.answered = now
		r.types.SetStock(rows)
	case !r.answered.IsZero() && now.Sub(r.answered) >= availabilityFor:
		r.answered = time.Time{}
		r.types.SetStock(nil)
		r.log.Warn("could not read the availability of plan types for an hour; only the price list is used",
			"region", region, "error", err)
	default:
		r.log.Warn("could not read the availability of plan types", "region", region, "error", err)
	}
}

// update takes over a price list.
func (r *Refresher) update(ctx context.Context, list *catalog.Catalog) {
	r.list.Store(list)
	if r.types == nil {
		return
	}
	if repriced := r.types.Refresh(list); len(repriced) > 0 && r.announce != nil {
		r.announce(ctx, repriced)
	}
}

// askAccount updates the capabilities of the account. If the account does not answer, the last ones count.
func (r *Refresher) askAccount(ctx context.Context) {
	if r.account == nil || !r.types.AccountMatters() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	capabilities, err := r.account(ctx)
	switch {
	case err == nil:
		r.types.SetAccount(capabilities, "")
		r.known = true
	case !r.known:
		r.types.SetAccount(nil, err.Error()+"; the token needs the scope account:read_only")
	}
}
