package linode

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// counter is a StockSource that says what the test wants.
type counter struct {
	mu    sync.Mutex
	rows  []catalog.Availability
	err   error
	asked int
}

func (c *counter) say(available bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.err = []catalog.Availability{{Region: "us-ord", Plan: "g7-premium-4", Available: available}}, err
}

func (c *counter) Catalog(context.Context) (*catalog.Catalog, error) { return catalog.Embedded() }

func (c *counter) Availability(context.Context, string) ([]catalog.Availability, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.rows, c.err
}

// TestTheStockIsFollowed: a plan that the region has sold out is not offered,
// comes back when the region says so, and is tried again when the region says
// nothing for an hour.
func TestTheStockIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		facts, err := catalog.Embedded()
		if err != nil {
			t.Fatal(err)
		}
		types := NewInstanceTypes(facts, "us-ord", catalog.Standard)
		const plan, other = "g7-premium-4", "g6-standard-4"
		offered := func() bool { return len(byName(t, types, plan).Offerings.Available()) > 0 }
		if !offered() {
			t.Fatalf("%s is not on the price list of the region", plan)
		}
		kept := byName(t, types, other)
		region := &counter{}
		region.say(false, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go NewStock(region, types, facts, slog.New(slog.DiscardHandler)).Start(ctx)

		time.Sleep(6 * time.Minute)
		if offered() {
			t.Error("a plan is offered that the region has not")
		}
		region.say(true, nil)
		time.Sleep(5 * time.Minute)
		if !offered() {
			t.Error("a plan is not offered that the region has again")
		}
		region.say(false, nil)
		time.Sleep(5 * time.Minute)
		region.say(false, errors.New("no answer"))
		time.Sleep(50 * time.Minute)
		if offered() {
			t.Error("the last answer counts no more within the hour")
		}
		time.Sleep(20 * time.Minute)
		if !offered() {
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

// TestAPlanThatLeavesThePriceListStays: nodes of it may be there, and the core
// replaces nodes whose type it cannot find.
func TestAPlanThatLeavesThePriceListStays(t *testing.T) {
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	types := NewInstanceTypes(facts, "us-ord", catalog.Standard)
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
