// Package catalog has the facts of Linode's public price list: plans, regions, prices in each region, and which
// limited plans a region sells. [Embedded] returns the built-in list, [Read] reads a file, and [Fetch] reads the
// API; a [Catalog] then reports whether a plan is sold for Kubernetes in a region, its price there, and the size
// that a node of the plan reports.
//
// It knows neither Karpenter nor Kubernetes clients, holds no credentials, and after loading it does no input or
// output: a Catalog is a value that never changes.
package catalog

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// snapshot is made from recorded answers of the public API by
//
//	go test ./linode/catalog -run TestEmbeddedFacts -update
//
// and from the live API by lkeplan catalog refresh.
//
//go:embed snapshot.txt
var snapshot []byte

// FileName is the file that pins a catalogue in a repository, next to a configuration or above it.
const FileName = "lkeplan.catalog"

// Catalog is an immutable set of plans, regions and availability; it is safe for concurrent use.
type Catalog struct {
	date    string
	source  string
	plans   []Plan
	regions []Region
	// limited has, for each plan of limited stock, the availability in each region. A plan or a region that is
	// absent is available.
	limited map[string]map[string]bool
}

// Availability is one row of GET /regions/availability: whether a region has stock of a limited plan. No row means
// that the plan is available, as Cloud Manager reads it.
type Availability struct {
	Region    string `json:"region"`
	Plan      string `json:"plan"`
	Available bool   `json:"available"`
}

// New returns a catalog of facts gathered on date (YYYY-MM-DD) from source, both for readers only. It sorts
// the facts and refuses ids that are empty, duplicate or not plain words.
func New(date, source string, plans []Plan, regions []Region, rows []Availability) (*Catalog, error) {
	c := &Catalog{date: date, source: source, limited: map[string]map[string]bool{}}
	for _, p := range plans {
		c.plans = append(c.plans, p.normal())
	}
	for _, r := range regions {
		c.regions = append(c.regions, r.normal())
	}
	slices.SortFunc(c.plans, func(a, b Plan) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(c.regions, func(a, b Region) int { return strings.Compare(a.ID, b.ID) })
	for _, row := range rows {
		c.limit(row)
	}
	return c, c.check()
}

// Embedded returns the snapshot that was built into the binary, for work without a network. It is as old as
// [Catalog.Date] says.
func Embedded() (*Catalog, error) {
	c, err := Read(bytes.NewReader(snapshot))
	if err != nil {
		return nil, fmt.Errorf("read embedded catalog: %w", err)
	}
	return c, nil
}

// UnmarshalText reads a snapshot, as [Read] does.
func (c *Catalog) UnmarshalText(text []byte) error {
	read, err := Read(bytes.NewReader(text))
	if err == nil {
		*c = *read
	}
	return err
}

// Date returns the day (YYYY-MM-DD) on which the facts were gathered; "" if that is not known.
func (c *Catalog) Date() string { return c.date }

// Age returns the date of the catalog, to follow a noun: " of 2026-09-15"; "" if it is unknown. [Plan] has the
// source of a single row.
func (c *Catalog) Age() string {
	if c.date == "" {
		return ""
	}
	return " of " + c.date
}

// Source describes where the facts came from, for users.
func (c *Catalog) Source() string { return c.source }

// Plans returns every plan, by id. The slice belongs to the caller; the maps in it must not be changed.
func (c *Catalog) Plans() []Plan { return slices.Clone(c.plans) }

// Plan returns the plan with an id.
func (c *Catalog) Plan(id string) (Plan, bool) {
	i, ok := slices.BinarySearchFunc(c.plans, id, func(p Plan, id string) int { return strings.Compare(p.ID, id) })
	if !ok {
		return Plan{}, false
	}
	return c.plans[i], true
}

// Regions returns every region, by id. The slice belongs to the caller; the capabilities in it must not be changed.
func (c *Catalog) Regions() []Region { return slices.Clone(c.regions) }

// Region returns the region with an id.
func (c *Catalog) Region(id string) (Region, bool) {
	i, ok := slices.BinarySearchFunc(c.regions, id, func(r Region, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return Region{}, false
	}
	return c.regions[i], true
}

// Availability returns the rows for limited plans, by plan and region.
func (c *Catalog) Availability() []Availability {
	var rows []Availability
	for _, plan := range slices.Sorted(maps.Keys(c.limited)) {
		for _, region := range slices.Sorted(maps.Keys(c.limited[plan])) {
			rows = append(rows, Availability{Region: region, Plan: plan, Available: c.limited[plan][region]})
		}
	}
	return rows
}

func (c *Catalog) limit(row Availability) {
	if c.limited[row.Plan] == nil {
		c.limited[row.Plan] = map[string]bool{}
	}
	c.limited[row.Plan][row.Region] = row.Available
}

// word matches the ids of the API. The snapshot allows only such ids, so that its lines are unambiguous.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Stricter returns the catalog with which a change from one catalog to another is evaluated: the facts of the old
// one, and those that only the new one has. The higher of two prices counts, and a price that only the new one has
// is unknown, because nothing outside of the change has confirmed it.
func Stricter(before, after *Catalog) (*Catalog, error) {
	known := map[string]bool{}
	var plans []Plan
	for _, p := range before.plans {
		known[p.ID] = true
		now, still := after.Plan(p.ID)
		old := p
		switch {
		case still && !(p.Sized() && now.Sized()):
			p = now
		case !still:
			now = p
		}
		p.Price = dearerPrice(old.Price, now.Price)
		regions := map[string]Price{}
		for _, of := range []RegionPrices{old.RegionPrices, now.RegionPrices} {
			for region := range of {
				regions[region] = dearerPrice(old.in(region), now.in(region))
			}
		}
		p.RegionPrices = regions
		plans = append(plans, p)
	}
	for _, p := range after.plans {
		if !known[p.ID] {
			p.Price, p.RegionPrices = Price{}, nil
			plans = append(plans, p)
		}
	}
	regions := slices.Clone(before.regions)
	for _, r := range after.regions {
		if _, there := before.Region(r.ID); !there {
			regions = append(regions, r)
		}
	}
	return New(after.date, after.source, plans, regions, append(before.Availability(), after.Availability()...))
}

// dearerPrice returns the higher of two prices; unknown if one of them is.
func dearerPrice(before, after Price) Price {
	if !before.Known() || after.Known() && before.PerMonth() > after.PerMonth() {
		return before
	}
	return after
}

// Beyond these bounds a price list is wrong, and sums of it could overflow.
const (
	largestSize = 1 << 30
	dearest     = 1_000_000 * Dollar
)

func (c *Catalog) check() error {
	if err := checkTexts("catalog", c.date, c.source); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, p := range c.plans {
		if err := checkID("plan", p.ID, seen); err != nil {
			return err
		}
		if err := checkTexts(fmt.Sprintf("plan %q", p.ID), p.Label, p.Class, p.Successor, p.From); err != nil {
			return err
		}
		for _, size := range []int{p.VCPUs, p.MemoryMiB, p.DiskMiB, p.TransferGB, p.NetworkOutMbps, p.GPUs, p.AcceleratedDevices} {
			if size < 0 || size > largestSize {
				return fmt.Errorf("plan %q: a size is negative or beyond %d", p.ID, largestSize)
			}
		}
		prices := map[string]Price{"": p.Price}
		maps.Copy(prices, p.RegionPrices)
		for _, region := range slices.Sorted(maps.Keys(prices)) {
			if price := prices[region]; min(price.Hourly, price.Monthly) < 0 || max(price.Hourly, price.Monthly) > dearest {
				return fmt.Errorf("plan %q: the price %s is negative or above $%s", p.ID, price, dearest)
			}
			if region != "" && !word.MatchString(region) {
				return fmt.Errorf("plan %q: price for region %q: not a plain word", p.ID, region)
			}
		}
	}
	for _, r := range c.regions {
		if err := checkID("region", r.ID, seen); err != nil {
			return err
		}
		texts := append([]string{r.Label, r.Country, r.Status, r.SiteType}, r.Capabilities...)
		if err := checkTexts(fmt.Sprintf("region %q", r.ID), texts...); err != nil {
			return err
		}
	}
	for _, row := range c.Availability() {
		if !word.MatchString(row.Plan) || !word.MatchString(row.Region) {
			return fmt.Errorf("availability of %q in %q: not a plain word", row.Plan, row.Region)
		}
	}
	return nil
}

// checkTexts rejects texts that could start a line of a report.
func checkTexts(of string, texts ...string) error {
	for _, text := range texts {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return fmt.Errorf("%s: %.40q is not one line of text", of, text)
		}
	}
	return nil
}

func checkID(kind, id string, seen map[string]bool) error {
	key := kind + " " + id
	if !word.MatchString(id) {
		return fmt.Errorf("%s id %q: not a plain word", kind, id)
	}
	if seen[key] {
		return fmt.Errorf("%s %q: listed twice", kind, id)
	}
	seen[key] = true
	return nil
}
