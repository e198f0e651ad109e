package lke

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/sim"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// The plan types that the claims of a day allow, the cheaper one first.
const cheap, dear = "g6-standard-4", "g6-dedicated-4"

// day is a rig whose claims come and go as Karpenter's do, and that knows what they would have
// cost if nothing ever went wrong.
type day struct {
	*rig
	rng    *rand.Rand
	oracle oracle
	last   time.Time
	peak   int
}

// oracle knows the future: it creates one machine for each claim at once, of the plan type that
// there is, has it for as long as the claim lives, and creates no other. What LKE creates on its own
// in the place of a machine, and no claim takes, costs the oracle an hour as well, and lives for ten
// minutes of it: so long it is kept for a claim.
type oracle struct {
	hours  float64
	bill   catalog.Money // begun hours count whole
	claims map[string]capacity.Claim
	slots  map[string]int // the machine that was last in each slot
	gifts  map[int]gift   // machines that LKE created on its own, without a claim
	prices *catalog.Catalog
}

// gift is a machine that LKE created on its own.
type gift struct {
	plan string
	made time.Time
}

// see notes the machines and claims there are, and charges for the claims that have gone. One
// that never had a machine costs nothing.
func (o *oracle) see(pools []sim.Pool, claims map[string]capacity.Claim) {
	there := map[int]bool{}
	for _, p := range pools {
		for _, slot := range p.Nodes {
			if slot.InstanceID == nil {
				continue
			}
			had, is := o.slots[slot.ID], *slot.InstanceID
			if there[is] = true; is != had {
				if o.slots[slot.ID] = is; had != 0 {
					o.gifts[is] = gift{p.Type, time.Now()}
				}
			}
		}
	}
	for _, c := range claims {
		delete(o.gifts, c.Instance)
	}
	for instance, g := range o.gifts {
		if !there[instance] {
			o.keep(g)
			delete(o.gifts, instance)
		}
	}
	for uid, c := range o.claims {
		if now, there := claims[uid]; !there || now.Leaving {
			o.charge(c)
			delete(o.claims, uid)
		}
	}
	for uid, c := range claims {
		if !c.Leaving {
			o.claims[uid] = c
		}
	}
}

func (o *oracle) charge(c capacity.Claim) {
	if c.Instance != 0 {
		o.pay(c.Group.Plan, time.Since(c.Created).Hours())
	}
}

func (o *oracle) pay(plan string, hours float64) {
	price, _ := o.prices.Price(plan, "us-ord")
	o.bill += price.Hourly * catalog.Money(math.Ceil(hours))
}

// keep counts a machine that LKE created on its own and no claim took.
func (o *oracle) keep(g gift) {
	o.pay(g.plan, 1)
	o.hours += min(time.Since(g.made), 10*time.Minute).Hours()
}

// end is the end of the day: all claims go.
func (o *oracle) end() {
	for _, c := range o.claims {
		o.charge(c)
	}
	for _, g := range o.gifts {
		o.keep(g)
	}
}

// ReplanOrDelete gives a claim another plan type, or ends it if there is none.
func (d *day) ReplanOrDelete(_ context.Context, uid, _ string) error {
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	if c, ok := d.book.claims[uid]; ok && c.Instance == 0 && !c.Leaving {
		plan := d.plan()
		c.Leaving = plan == c.Group.Plan
		c.Group.Plan = plan
		d.book.claims[uid] = c
	}
	return nil
}

func (d *day) List(ctx context.Context) ([]capacity.Claim, error) { return d.book.List(ctx) }
func (d *day) Bind(ctx context.Context, b capacity.Bind) error    { return d.book.Bind(ctx, b) }
func (d *day) Extend(context.Context, string) error               { return nil }
func (d *day) Lose(ctx context.Context, uid string, instance int, reason string) error {
	return d.book.Lose(ctx, uid, instance, reason)
}
func (d *day) NotDeleted(context.Context, string, string, string) error { return nil }
func (d *day) Warn(context.Context, string, string, string)             {}
func (d *day) WarnNodePool(context.Context, string, string, string)     {}

// plan is the cheaper plan type that is offered.
func (d *day) plan() string {
	for _, it := range d.types.List() {
		if it.Name == cheap && len(it.Offerings.Available()) > 0 {
			return cheap
		}
	}
	return dear
}

// tick is Karpenter's part: it makes and ends claims until there are as many as wanted, and
// drops those whose machine is gone.
func (d *day) tick(wanted int) {
	pools := d.sim.Pools()
	d.book.mu.Lock()
	d.oracle.see(pools, d.book.claims)
	active, leaving := []string{}, []string{}
	for _, uid := range slices.Sorted(maps.Keys(d.book.claims)) {
		if d.book.claims[uid].Leaving {
			leaving = append(leaving, uid)
		} else {
			active = append(active, uid)
		}
	}
	for len(active) > wanted { // consolidation takes any
		i := d.rng.IntN(len(active))
		c := d.book.claims[active[i]]
		c.Leaving = true
		d.book.claims[c.UID] = c
		leaving, active = append(leaving, c.UID), slices.Delete(active, i, i+1)
	}
	fresh := len(active) < wanted
	for n := len(active); n < wanted; n++ {
		d.next++
		uid := fmt.Sprintf("claim-%06d", d.next)
		d.book.claims[uid] = capacity.Claim{
			UID: uid, Group: capacity.Group{NodePool: "web", Plan: d.plan()}, Created: time.Now(),
		}
	}
	d.book.mu.Unlock()
	d.peak = max(d.peak, wanted)
	d.oracle.hours += float64(wanted) * time.Since(d.last).Hours()
	d.last = time.Now()
	if fresh {
		d.running().Wake()
	}
	for _, uid := range leaving {
		d.drop(uid)
	}
}

// disturb has one of the things happen that happen to clusters.
func (d *day) disturb() {
	const stock = "stock"
	switch d.rng.IntN(6) {
	case 0, 1:
		d.sim.EndFaults(stock)
		ways := []string{sim.Refuse, sim.NullSlots, sim.NodeEvent, sim.Hidden, sim.Clamp}
		f := sim.Fault{Name: stock, NoCapacity: ways[d.rng.IntN(len(ways))], Plan: cheap}
		if f.NoCapacity == sim.Refuse || f.NoCapacity == sim.Clamp {
			f.Room = d.rng.IntN(20)
		}
		d.inject(f)
	case 2, 3:
		d.sim.EndFaults(stock)
	case 4:
		if pools := d.sim.Pools(); len(pools) > 0 {
			d.recycle(fmt.Sprintf("pools/%d/recycle", pools[d.rng.IntN(len(pools))].ID))
		}
	case 5:
		for range 3 {
			if all := d.sim.Instances(); len(all) > 0 {
				d.sim.LoseInstance(all[d.rng.IntN(len(all))].ID, true)
			}
		}
	}
}

// recycle repeats a call until LKE has taken it.
func (d *day) recycle(what string) {
	for {
		req, err := http.NewRequestWithContext(d.t.Context(), "POST", "http://x/v4/lke/clusters/77/"+what, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		res, err := d.sim.Client().Do(req)
		if err == nil && res.StatusCode < 500 {
			return
		}
		time.Sleep(time.Second)
	}
}

// rest fails the test where machines and claims are not one to one.
func (d *day) rest(wanted int) {
	live := 0
	for _, i := range d.sim.Instances() {
		if i.Status != "deleting" {
			live++
		}
	}
	d.book.mu.Lock()
	claims := len(d.book.claims)
	d.book.mu.Unlock()
	if !d.bound() || d.rig.lost() > 0 || claims != wanted || live != wanted {
		d.t.Errorf("after %s: %d claims and %d machines for %d nodes; bound: %v, lost: %d", time.Since(d.begun()), claims,
			live, wanted, d.bound(), d.rig.lost())
	}
}

// begun is when fake time begins.
func (d *day) begun() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

var hours = flag.Int("hours", nightly.Or(4, 24), "how many hours TestADay plays; 24 is a day")

// TestADay plays a cluster of up to 200 nodes, whose load follows the sun. Of the calls 5 % fail,
// each hour another process leads, stock comes and goes, and LKE recycles nodes. In the last
// half hour of each two nothing new happens: then there is a machine for each claim, and no
// other. All machines together live within 2 % of what the load needs, and three days cost
// within 2 % of what an oracle pays. No day is like another, as goroutines take turns: of
// fifteen one cost 3.4 % more, when LKE made at once what it had owed for half an hour.
func TestADay(t *testing.T) {
	var billed [3]float64
	t.Run("days", func(t *testing.T) {
		for n := range billed {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				billed[n] = play(t, uint64(n))
			})
		}
	})
	if mean := (billed[0] + billed[1] + billed[2]) / 3; math.Abs(mean-1) > 0.02 {
		t.Errorf("%.2f %% off in money", 100*(mean-1))
	}
}

// play plays a day, and returns what was billed as a share of what the oracle pays.
func play(t *testing.T, seed uint64) (billed float64) {
	synctest.Test(t, func(t *testing.T) {
		d := &day{
			rig: newRig(t, sim.Config{
				Tier: "standard", FaultRate: 0.05, Seed: 7 + seed, Jitter: 0.3,
				InstanceDelay: 15 * time.Second, JoinDelay: 40 * time.Second, DeleteDelay: 20 * time.Second,
			}),
			rng: rand.New(rand.NewPCG(7, 1+seed)), last: time.Now(),
			oracle: oracle{
				claims: map[string]capacity.Claim{}, slots: map[string]int{}, gifts: map[int]gift{}, prices: facts(t),
			},
		}
		d.kill()
		d.claims = d
		d.start("standard")
		load := func(minute int) int {
			return 125 - int(75*math.Cos(2*math.Pi*float64(minute)/(24*60)*24/float64(*hours)))
		}
		wanted := 0
		for minute := range *hours * 60 {
			resting, before, turn := minute%120 >= 90, wanted, d.rng.IntN(6)
			if !resting {
				wanted = load(minute) + d.rng.IntN(7) - 3
				if minute%10 == 5 {
					d.disturb()
				}
			}
			switch {
			case minute%60 == 59:
				d.kill()
				time.Sleep(10 * time.Second) // until the lease is over
				d.start("standard")
			case minute%120 == 90:
				d.sim.EndFaults("stock")
			}
			for i := range 6 { // load does not change by the minute: its hours would all end just too late
				if i < turn {
					d.tick(before)
				} else {
					d.tick(wanted)
				}
				time.Sleep(10 * time.Second)
			}
			if minute%120 == 118 {
				d.rest(wanted)
			}
		}
		d.kill()
		d.oracle.end()
		stats := d.sim.Stats()
		lived := stats.Hours / d.oracle.hours
		billed = float64(stats.Bill) / float64(d.oracle.bill)
		t.Logf("%d hours, up to %d nodes: %.0f machine hours, %.0f needed (%.2f %%); %d made; bill %s, %s of an oracle "+
			"(%.2f %%); "+
			"%d calls, %d writes", *hours, d.peak, stats.Hours, d.oracle.hours, 100*(lived-1), stats.Made, stats.Bill, d.oracle.bill,
			100*(billed-1), stats.Calls, stats.Writes)
		if math.Abs(lived-1) > 0.02 {
			t.Errorf("%.2f %% off in time", 100*(lived-1))
		}
	})
	return billed
}
