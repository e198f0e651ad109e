package instancetype

import (
	"context"
	"log/slog"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Refresher keeps a Set up to date. Every few minutes it reads which plan types
// the region has, and twice a day the price list.
//
// An answer of the region is a hint about stock and counts for an hour. It withdraws
// no plan type.
type Refresher struct {
	source Source
	types  *Set
	log    *slog.Logger

	list     *catalog.Catalog // the price list
	listRead time.Time
	answered time.Time // when the region answered last; zero if no answer counts
	account  Account   // nil: it is not asked
	known    bool      // the account has answered

	announce func(context.Context, []Repriced) // nil: changed prices are not announced
}

// Announce has a function called with the plan types whose price Linode has changed.
func (r *Refresher) Announce(repriced func(context.Context, []Repriced)) { r.announce = repriced }

// update takes over a price list and what the region says of its stock.
func (r *Refresher) update(ctx context.Context, rows []catalog.Availability) {
	repriced := r.types.Refresh(r.list)
	r.types.SetStock(rows)
	if len(repriced) > 0 && r.announce != nil {
		r.announce(ctx, repriced)
	}
}

// Account says which capabilities the account has.
type Account func(ctx context.Context) ([]string, error)

// Ask has the account asked for its capabilities, if the region sells plans that need one. Until it has answered,
// these are not offered.
func (r *Refresher) Ask(account Account) {
	r.account = account
	if r.types.AccountMatters() {
		r.types.SetAccount(nil, "the account has not been read yet")
	}
}

// Source is where plan types and their availability are read.
type Source interface {
	Catalog(ctx context.Context) (*catalog.Catalog, error)
	Availability(ctx context.Context, region string) ([]catalog.Availability, error)
}

// How often the region and the price list are read, and how long an answer of
// the region counts.
const (
	availabilityEvery = 5 * time.Minute
	listEvery         = 12 * time.Hour
	availabilityFor   = time.Hour
)

// NewRefresher returns what keeps a Set up to date that was made from the list. One
// that is not fresh, because Linode did not answer, is read again soon.
func NewRefresher(source Source, types *Set, list *catalog.Catalog, fresh bool, log *slog.Logger) *Refresher {
	r := &Refresher{source: source, types: types, log: log, list: list}
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

// NeedLeaderElection implements manager.LeaderElectionRunnable: the standby reads
// them too, so that it can lead at once.
func (r *Refresher) NeedLeaderElection() bool { return false }

func (r *Refresher) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	now, region := time.Now(), r.types.Region()
	if now.Sub(r.listRead) >= listEvery {
		if list, err := r.source.Catalog(ctx); err == nil {
			r.list, r.listRead = list, now
		} else {
			r.log.Warn("could not read the price list; the previous one stays in use", "error", err)
		}
	}
	rows, err := r.source.Availability(ctx, region)
	switch {
	case err == nil:
		r.answered = now
		r.update(ctx, rows)
	case !r.answered.IsZero() && now.Sub(r.answered) >= availabilityFor:
		r.answered = time.Time{}
		r.update(ctx, nil)
		r.log.Warn("could not read the availability of plan types for an hour; only the price list is used",
			"region", region, "error", err)
	default:
		r.log.Warn("could not read the availability of plan types", "region", region, "error", err)
	}
}

// askAccount takes over the capabilities of the account. Those that it had count while it does not answer.
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
