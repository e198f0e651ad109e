package compare

import (
	"reflect"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// Reprice notes on a plan which catalogue its prices are from, and what the change does to the prices that it pins.
func Reprice(p *plan.Plan, base, head compile.Result) error {
	if head.Catalog != nil {
		p.Catalog = nameOf(head)
	}
	if base.Cluster == (config.Cluster{}) || head.Cluster == (config.Cluster{}) || reflect.DeepEqual(base.Catalog, head.Catalog) {
		return nil // one of them is not there, or the prices stay
	}
	before, err := base.Prices()
	if err != nil {
		return err
	}
	after, err := head.Prices()
	if err != nil {
		return err
	}
	repriced, err := plan.Reprice(head.Objects, offers(head.Cluster, before), offers(head.Cluster, after))
	if err != nil || len(repriced.Types)+repriced.Others == 0 {
		return err
	}
	repriced.From, repriced.To = nameOf(base), nameOf(head)
	p.Repriced = []plan.Repricing{repriced}
	return nil
}

// nameOf names the catalogue of a directory, as it stands in a sentence.
func nameOf(c compile.Result) string {
	if c.Catalog == nil {
		return "the built-in catalogue"
	}
	return c.CatalogFile + " " + c.Catalog.Age()
}
