package lkesim

import "github.com/lkeplan/lkeplan/linode/catalog"

// tally counts instances, slots and money as they change, so that a peak between two reads is not missed.
type tally struct {
	madeCount, deletedCount int
	live, peakLive          int
	peakSlots               int
	cost, peakCost          catalog.Money // by the hour
	monthly, peakMonthly    catalog.Money
}

func (t *tally) made(st *state, i *instance) {
	t.madeCount++
	t.live++
	t.bill(st.price(i), 1)
	t.peak(st)
}

func (t *tally) deleted(st *state, i *instance) {
	t.deletedCount++
	t.live--
	t.bill(st.price(i), -1)
}

func (t *tally) bill(price catalog.Price, sign catalog.Money) {
	t.cost += sign * price.Hourly
	t.monthly += sign * price.PerMonth()
}

func (t *tally) slots(st *state) { t.peak(st) }

func (t *tally) peak(st *state) {
	t.peakLive = max(t.peakLive, t.live)
	t.peakCost = max(t.peakCost, t.cost)
	t.peakMonthly = max(t.peakMonthly, t.monthly)
	t.peakSlots = max(t.peakSlots, st.slotCount())
}

// reset forgets what happened; the peaks start from what there is.
func (t *tally) reset(st *state) {
	*t = tally{live: t.live, cost: t.cost, monthly: t.monthly}
	t.peak(st)
}

// price is what an instance costs in its region until it is gone; that it costs until then, and not only until the
// delete call, is an assumption.
func (st *state) price(i *instance) catalog.Price {
	price, _ := st.cfg.Catalog.Price(i.slot.pool.plan.ID, i.slot.pool.cluster.region)
	return price
}

func (st *state) slotCount() int {
	n := 0
	for _, c := range st.clusters {
		n += c.size()
	}
	return n
}

// stats fills in what the account knows; the calls are not its business.
func (st *state) stats(into *Stats) {
	t := st.tally
	into.Made, into.Deleted, into.Live, into.PeakLive = t.madeCount, t.deletedCount, t.live, t.peakLive
	into.PeakSlots = t.peakSlots
	into.HourlyCost, into.PeakHourlyCost, into.PeakMonthlyCost = t.cost, t.peakCost, t.peakMonthly
	for _, i := range st.instances {
		if !i.gone.IsZero() {
			into.Deleting++
		}
	}
	for _, c := range st.clusters {
		into.Pools += len(c.pools)
		for _, p := range c.pools {
			into.Slots += len(p.slots)
			for _, sl := range p.slots {
				if sl.instance == nil {
					into.NullSlots++
				}
			}
		}
	}
}
