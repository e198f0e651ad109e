package leave

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Keep takes off all objects, and all Nodes, what only lkeplan takes off, so that each can
// be deleted and none goes with another. No object is deleted: a controller that is
// started again goes on as before. None may run meanwhile: where one puts something back
// within some seconds, the error is ErrPutBack.
func Keep(ctx context.Context, in Cluster, report func(Step)) error {
	h, err := Read(ctx, in)
	if err != nil {
		return err
	}
	// Nodes first: a NodeClaim that is being deleted goes with its last finalizer.
	for _, obj := range slices.Concat(h.Nodes, h.Claims, h.Pools, h.Classes, h.NodePlans) {
		if Release(obj) == nil {
			continue
		}
		if err := release(ctx, in, obj); err != nil {
			return err
		}
		what := "released"
		if manifest.Deleted(obj) {
			what = "released, and gone: it was being deleted"
		}
		report(stepOf(obj, what))
	}
	return staysOff(ctx, in)
}

// ErrPutBack tells that a controller runs.
var ErrPutBack = errors.New("a controller runs, and has put back what was taken off: stop it, and run this again; " +
	"to delete the CRDs now would delete nodes")

// A controller sees at once that a finalizer is off, and needs some seconds where its
// requests are held back.
const (
	putBackWithin = 8 * time.Second
	pollPutBack   = time.Second
)

// staysOff watches for what a controller puts back that nothing else shows.
func staysOff(ctx context.Context, in Cluster) error {
	watching, cancel := context.WithTimeout(ctx, putBackWithin)
	defer cancel()
	ticker := time.NewTicker(pollPutBack)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-watching.Done():
			return ctx.Err()
		}
		h, err := Read(ctx, in)
		if err != nil {
			return err
		}
		for _, obj := range slices.Concat(h.Nodes, h.Claims, h.Pools, h.Classes, h.NodePlans) {
			if names := releasedFrom(obj); len(names) > 0 {
				s := stepOf(obj, "")
				return fmt.Errorf("%s %s has %s again: %w", s.Kind, s.Name, strings.Join(names, ", "), ErrPutBack)
			}
		}
	}
}

// Machine is a Linode that costs money.
type Machine struct {
	Node     string `json:"node,omitempty"` // "" where it has not joined
	Claim    string `json:"claim,omitempty"`
	Linode   string `json:"linode,omitempty"` // its number; "" where it is only on order
	LKEPool  string `json:"lkePool,omitempty"`
	PlanType string `json:"planType"`
	Pool     string `json:"pool,omitempty"`

	Monthly catalog.Money `json:"monthly,omitempty"` // US dollars; 0 where the price is not known
}

// Bill lists the Linodes that lkeplan has made, and what they cost in a month.
func Bill(h Holdings, prices *catalog.Catalog) (machines []Machine, total catalog.Money) {
	joined := map[string]int{}
	add := func(obj map[string]any, m Machine) {
		m.PlanType, m.Pool = manifest.Label(obj, "node.kubernetes.io/instance-type"), poolOf(obj)
		if price, ok := prices.Price(m.PlanType, manifest.Label(obj, "topology.kubernetes.io/region")); ok {
			m.Monthly = price.PerMonth()
			total += m.Monthly
		}
		machines = append(machines, m)
	}
	for _, n := range h.Nodes {
		id := manifest.Text(n, "spec", "providerID")
		joined[id] = len(machines)
		add(n, Machine{
			Node: manifest.Name(n), Linode: strings.TrimPrefix(id, "linode://"),
			LKEPool: manifest.Label(n, "lke.linode.com/pool-id"),
		})
	}
	for _, claim := range h.Claims {
		id := manifest.Text(claim, "status", "providerID")
		if at, ok := joined[id]; ok && id != "" {
			machines[at].Claim = manifest.Name(claim)
			continue
		}
		m := Machine{Claim: manifest.Name(claim)}
		if number, made := strings.CutPrefix(id, "linode://"); made {
			m.Linode = number
		}
		add(claim, m)
	}
	slices.SortStableFunc(machines, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Claim, b.Claim))
	})
	return machines, total
}
