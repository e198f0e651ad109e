package linode

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// counter is a StockSource that says what the test wants.
type counter struct {
	rows  []catalog.Availability
	err   error
	asked int
}

func (c *counter) Catalog(context.Context) (*catalog.Catalog, error) { return catalog.Embedded() }

func (c *counter) Availability(context.Context, string) ([]catalog.Availability, error) {
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
		region := &counter{rows: []catalog.Availability{{Region: "us-ord", Plan: plan}}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go NewStock(region, types, facts, slog.New(slog.DiscardHandler)).Start(ctx)

		time.Sleep(6 * time.Minute)
		if offered() {
			t.Error("a plan is offered that the region has not")
		}
		region.rows[0].Available = true
		time.Sleep(5 * time.Minute)
		if !offered() {
			t.Error("a plan is not offered that the region has again")
		}
		region.rows[0].Available = false
		time.Sleep(5 * time.Minute)
		region.err = errors.New("no answer")
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
