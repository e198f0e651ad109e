package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// UninstallAndKeep takes off all objects, and all Nodes, what only lkeplan takes off, so that each can
// be deleted and none goes with another. No object is deleted: a controller that is
// started again goes on as before. None may run meanwhile: where one puts something back
// within some seconds, the error is ErrPutBack.
func UninstallAndKeep(ctx context.Context, in UninstallCluster, report func(Step)) error {
	h, err := ReadHoldings(ctx, in)
	if err != nil {
		return err
	}
	for _, obj := range h.all() {
		if Release(obj) == nil {
			continue
		}
		if err := release(ctx, in, obj); err != nil {
			return err
		}
		what := "released"
		if !obj.GetDeletionTimestamp().IsZero() {
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
func staysOff(ctx context.Context, in UninstallCluster) error {
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
		h, err := ReadHoldings(ctx, in)
		if err != nil {
			return err
		}
		for _, obj := range h.all() {
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
	add := func(obj metav1.Object, m Machine) {
		m.PlanType, m.Pool = obj.GetLabels()[corev1.LabelInstanceTypeStable], poolOf(obj)
		if price, ok := prices.Price(m.PlanType, obj.GetLabels()[corev1.LabelTopologyRegion]); ok {
			m.Monthly = price.PerMonth()
			total += m.Monthly
		}
		machines = append(machines, m)
	}
	for _, n := range h.Nodes {
		joined[n.Spec.ProviderID] = len(machines)
		add(n, Machine{Node: n.Name, Linode: strings.TrimPrefix(n.Spec.ProviderID, "linode://"), LKEPool: n.Labels[poolLabel]})
	}
	for _, claim := range h.Claims {
		id := claim.Status.ProviderID
		if at, ok := joined[id]; ok && id != "" {
			machines[at].Claim = claim.Name
			continue
		}
		m := Machine{Claim: claim.Name}
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
