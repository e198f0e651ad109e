package instancetype

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/sim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// counter is a Source that says what the test wants.
type counter struct {
	mu     sync.Mutex
	rows   []catalog.Availability
	err    error
	asked  int
	list   *catalog.Catalog // nil: the embedded one
	noList error
}

func (c *counter) say(available bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.err = []catalog.Availability{{Region: "us-ord", Plan: "g7-premium-4", Available: available}}, err
}

func (c *counter) Catalog(context.Context) (*catalog.Catalog, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list != nil || c.noList != nil {
		return c.list, c.noList
	}
	return catalog.Embedded()
}

func (c *counter) Availability(context.Context, string) ([]catalog.Availability, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.rows, c.err
}

// TestTheStockIsFollowed: a plan that the region has sold out is not offered,
// returns when the region offers it, and is retried when the region says
// nothing for an hour.
func TestTheStockIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		facts, err := catalog.Embedded()
		if err != nil {
			t.Fatal(err)
		}
		types := New(facts, "us-ord", catalog.Standard)
		const plan, other = "g7-premium-4", "g6-standard-4"
		offered := func() bool { return len(byName(t, types, plan).Offerings.Available()) > 0 }
		out := func() bool {
			types.mu.Lock()
			defer types.mu.Unlock()
			return types.out[plan]
		}
		if !offered() {
			t.Fatalf("%s is not on the price list of the region", plan)
		}
		kept := byName(t, types, other)
		region := &counter{}
		region.say(false, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go NewRefresher(region, types, facts, true, slog.New(slog.DiscardHandler)).Start(ctx)

		time.Sleep(6 * time.Minute)
		if !offered() || !out() {
			t.Error("a plan that the region says is out of stock is not offered, or counts as in stock")
		}
		region.say(true, nil)
		time.Sleep(5 * time.Minute)
		if out() {
			t.Error("a plan that the region has again counts as out of stock")
		}
		region.say(false, nil)
		time.Sleep(5 * time.Minute)
		region.say(false, errors.New("no answer"))
		time.Sleep(50 * time.Minute)
		if !out() {
			t.Error("the last answer counts no more within the hour")
		}
		time.Sleep(20 * time.Minute)
		if out() {
			t.Error("an answer of more than an hour ago still counts")
		}
		if byName(t, types, other) != kept {
			t.Error("a plan that did not change got a new pointer")
		}
		region.mu.Lock()
		defer region.mu.Unlock()
		if region.asked > 18 {
			t.Errorf("the region was asked %d times", region.asked)
		}
	})
}

// TestAcceleratedPlansNeedTheAccountsCapability: they are not offered until the account is known to have it. What it
// had counts while it does not answer. If the region sells none, the account is not asked.
func TestAcceleratedPlansNeedTheAccountsCapability(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		facts, err := catalog.Embedded()
		if err != nil {
			t.Fatal(err)
		}
		const plan = "g1-accelerated-netint-vpu-t1u1-s"
		want := scheduling.NewRequirements(scheduling.NewRequirement(linodev1alpha1.LabelInstanceClass,
			corev1.NodeSelectorOpIn, "accelerated"))
		var mu sync.Mutex
		var has []string
		no, asked := errors.New("forbidden"), 0
		answer := func(capabilities []string, err error) {
			mu.Lock()
			defer mu.Unlock()
			has, no = capabilities, err
		}
		account := func(context.Context) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return has, no
		}
		run := func(region string) *Set {
			types := New(facts, region, catalog.Standard)
			r := NewRefresher(&counter{}, types, facts, true, slog.New(slog.DiscardHandler))
			r.Ask(account)
			if region == "gb-lon" && !strings.Contains(types.WhyWithheld(want), "has not been read yet") {
				t.Errorf("before an answer: %q", types.WhyWithheld(want))
			}
			go r.Start(t.Context())
			synctest.Wait()
			return types
		}
		run("us-ord")
		if asked != 0 {
			t.Error("the account was asked where the region sells no plan that needs a capability")
		}
		types := run("gb-lon")
		says := func(offered bool, why string) {
			t.Helper()
			if got := len(byName(t, types, plan).Offerings.Available()) > 0; got != offered {
				t.Errorf("offered: %v", got)
			}
			if got := types.WhyWithheld(want); !strings.Contains(got, why) || (got == "") != (why == "") {
				t.Errorf("%q, want %q", got, why)
			}
		}
		says(false, "forbidden; the token needs the scope account:read_only")
		answer([]string{"Linodes"}, nil)
		time.Sleep(6 * time.Minute)
		says(false, "the account lacks it")
		answer([]string{"Linodes", catalog.CapAccelerated}, nil)
		time.Sleep(5 * time.Minute)
		says(true, "")
		answer(nil, errors.New("no answer"))
		time.Sleep(5 * time.Minute)
		says(true, "")
		if all := scheduling.NewRequirements(); types.WhyWithheld(all) != "" {
			t.Error("a pool that allows other plans is said to have none")
		}
	})
}

// TestPlanRemovedFromPriceListIsKept: nodes of it may be there, and Karpenter
// replaces nodes whose type it cannot find.
func TestPlanRemovedFromPriceListIsKept(t *testing.T) {
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	types := New(facts, "us-ord", catalog.Standard)
	price := byName(t, types, "g6-standard-4").Offerings[0].Price
	fewer := slices.DeleteFunc(facts.Plans(), func(p catalog.Plan) bool { return p.ID == "g6-standard-4" })
	list, err := catalog.New("2026-01-01", "test", fewer, facts.Regions(), facts.Availability())
	if err != nil {
		t.Fatal(err)
	}
	types.Refresh(list)
	gone := byName(t, types, "g6-standard-4")
	if len(gone.Offerings.Available()) != 0 || gone.Offerings[0].Price != price {
		t.Errorf("offerings %+v", gone.Offerings)
	}
}

// TestStalePricesAreUsedUntilRefresh: when it cannot be read, it
// is requested again a few minutes later.
func TestStalePricesAreUsedUntilRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		facts, err := catalog.Embedded()
		if err != nil {
			t.Fatal(err)
		}
		const plan = "g6-standard-4"
		dearer := facts.Plans()
		for i := range dearer {
			if dearer[i].ID == plan {
				dearer[i].Price.Hourly *= 2
			}
		}
		list, err := catalog.New("2030-01-01", "test", dearer, facts.Regions(), facts.Availability())
		if err != nil {
			t.Fatal(err)
		}
		types := New(facts, "us-ord", catalog.Standard)
		before := byName(t, types, plan)
		source := &counter{noList: errors.New("no answer")}
		refresher := NewRefresher(source, types, facts, true, slog.New(slog.DiscardHandler))
		var announced []Repriced
		refresher.Announce(func(_ context.Context, repriced []Repriced) { announced = append(announced, repriced...) })
		go refresher.Start(t.Context())

		time.Sleep(13 * time.Hour)
		if byName(t, types, plan) != before {
			t.Error("the type has changed without a list")
		}
		source.mu.Lock()
		source.list, source.noList = list, nil
		source.mu.Unlock()
		time.Sleep(6 * time.Minute)
		if got, was := byName(t, types, plan).Offerings[0].Price, before.Offerings[0].Price; got != 2*was {
			t.Errorf("the price is %v, want %v", got, 2*was)
		}
		if refresher.Prices() != list {
			t.Error("the price list is not the newest")
		}
		alone := NewRefresher(source, nil, facts, false, slog.New(slog.DiscardHandler))
		go alone.Start(t.Context())
		time.Sleep(time.Hour)
		if alone.Prices() != list {
			t.Error("without plan types, the price list is not read again")
		}
		if len(announced) != 1 || announced[0].Plan != plan || announced[0].Now.Hourly != 2*announced[0].Was.Hourly {
			t.Errorf("announced: %+v", announced)
		}
	})
}

// TestPartialPriceListIsRejected fails each call for the list in
// turn, in every way.
func TestPartialPriceListIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		simulator, err := sim.New(sim.Config{})
		if err != nil {
			t.Fatal(err)
		}
		client := simulator.Client()
		client.Timeout = time.Minute
		whole, err := catalog.Fetch(t.Context(), client, "http://linode.test")
		if err != nil {
			t.Fatal(err)
		}
		calls := simulator.Stats().Calls
		for name, fault := range sim.CallFaults() {
			for i := range calls {
				fault.After, fault.Count = i, 1
				simulator.ClearFaults()
				simulator.Reset()
				if err := simulator.Inject(fault); err != nil {
					t.Fatal(err)
				}
				list, err := catalog.Fetch(t.Context(), client, "http://linode.test")
				if err == nil && (len(list.Plans()) != len(whole.Plans()) || len(list.Regions()) != len(whole.Regions()) ||
					len(list.Availability()) != len(whole.Availability())) {
					t.Errorf("call %d, %s: %d plans, %d regions and %d rows of availability are taken for the whole list", i, name,
						len(list.Plans()), len(list.Regions()), len(list.Availability()))
				}
				if !slices.ContainsFunc(simulator.Calls(), func(c sim.Call) bool { return c.Fault != "" }) {
					t.Errorf("call %d, %s: it was never made", i, name)
				}
			}
		}
	})
}
