package probe

import (
	"context"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// experiment tests an assumption of linode/unverified.md. Its name is in the last column of the rows that it tests.
type experiment struct {
	name    string
	tier    catalog.Tier // "" means both
	outside bool         // it needs no cluster
	nodes   bool         // it needs the API server of the cluster
	within  time.Duration
	makes   map[string]int // number of new Linodes by plan, in addition to those of the fixtures
	uses    []fixture
	// decide reports whether the assumption holds, and what was observed. An error means that the experiment has no
	// result.
	decide func(context.Context, *run) (holds bool, seen string, err error)
}

// fixture is an object that several experiments share.
type fixture struct {
	name               string
	within, enterprise time.Duration // time limit; another one for Enterprise, if it takes longer there
	makes              map[string]int
}

func (f fixture) limit(tier catalog.Tier) time.Duration {
	if tier == catalog.Enterprise {
		return max(f.within, f.enterprise)
	}
	return f.within
}

// The plans of the probe: the smallest that LKE accepts, the smallest with 8 GB, and the smallest Linode.
const (
	small = "g6-standard-1"
	large = "g6-standard-4"
	nano  = "g6-nanode-1"
	// soldOut stands for a plan that is out of stock.
	soldOut = "sold out"
)

var (
	base   = fixture{"base", 15 * time.Minute, 30 * time.Minute, map[string]int{small: 2}}
	second = fixture{"second", 10 * time.Minute, 30 * time.Minute, map[string]int{large: 1}}
	group  = fixture{"group", 5 * time.Minute, 0, map[string]int{nano: 7}}
	scarce = fixture{"scarce", 5 * time.Minute, 25 * time.Minute, map[string]int{soldOut: 1}}
)

// experiments returns all experiments in the order in which they run.
func experiments() []experiment {
	const (
		standard, enterprise = catalog.Standard, catalog.Enterprise
		minute               = time.Minute
	)
	inBase, inSecond, inGroup, inScarce := []fixture{base}, []fixture{second}, []fixture{group}, []fixture{scarce}
	one := func(plan string) map[string]int { return map[string]int{plan: 1} }
	return []experiment{
		{name: "prices", outside: true, within: minute, decide: prices},
		{name: "token", outside: true, within: minute, decide: token},
		{name: "reserved", within: minute, uses: inBase, decide: reserved},
		{name: "pool-size", within: minute, decide: poolSize},
		{name: "plan-512", within: minute, decide: plan512},
		{name: "gpu", tier: enterprise, within: minute, decide: gpu},
		{name: "closed", within: minute, decide: closed},
		{name: "downgrade", within: minute, decide: downgrade},
		{name: "builds", tier: enterprise, within: 2 * minute, makes: one(small), decide: builds},

		{name: "listed", tier: enterprise, within: minute, uses: inBase, decide: listed},
		{name: "stays", within: minute, uses: inBase, decide: stays},
		{name: "boots", within: minute, uses: inBase, decide: boots},
		{name: "filter", within: minute, uses: inBase, decide: filter},
		{name: "disk", within: minute, uses: inBase, decide: disk},
		{name: "uninitialized", nodes: true, within: minute, uses: inBase, decide: uninitialized},
		{name: "names", nodes: true, within: minute, uses: inBase, decide: names},
		{name: "daemonsets", tier: standard, nodes: true, within: minute, decide: daemonsets},
		{name: "firewall", tier: standard, within: minute, uses: inBase, decide: firewall},
		{name: "labels", nodes: true, within: 10 * minute, uses: inBase, decide: labels},
		{name: "taints", nodes: true, within: 10 * minute, uses: inBase, decide: taints},
		{name: "put", within: 10 * minute, uses: inBase, decide: put},
		{name: "version", tier: enterprise, within: 10 * minute, uses: inBase, decide: changeVersion},
		{name: "count", within: minute, uses: inBase, makes: one(small), decide: count},
		{name: "null-slot", within: 10 * minute, uses: inBase, makes: one(small), decide: nullSlot},
		{name: "recycle", within: 15 * minute, uses: inBase, makes: one(small), decide: recycle},

		{name: "labelled", nodes: true, within: minute, uses: inSecond, decide: labelled},
		{name: "memory", tier: standard, nodes: true, within: minute, uses: inSecond, decide: memory},
		{name: "memory-enterprise", tier: enterprise, nodes: true, within: minute, uses: inSecond, decide: memoryEnterprise},
		{name: "last", within: 3 * minute, uses: inSecond, makes: one(large), decide: last},

		{name: "capacity", within: minute, uses: inScarce, decide: capacity},
		{name: "events", within: minute, uses: inScarce, decide: events},
		{name: "upgrade", tier: enterprise, within: 15 * minute, uses: inBase, decide: upgrade},

		{name: "label-taken", outside: true, within: 5 * minute, makes: map[string]int{nano: 3}, decide: labelTaken},
		{name: "swap", outside: true, within: 2 * minute, makes: one(nano), decide: swap},
		{name: "group-size", outside: true, within: minute, uses: inGroup, decide: groupSize},
		{name: "group-full", outside: true, within: minute, uses: inGroup, decide: groupFull},
		{name: "group-label", outside: true, within: minute, decide: groupLabel},
		{name: "group-unique", outside: true, within: minute, decide: groupUnique},
		{name: "scopes", outside: true, within: minute, decide: scopes},
	}
}
