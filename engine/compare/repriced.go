package compare

import (
	"reflect"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Reprice sets the price catalogue of a plan, and how the change alters it.
func Reprice(p *plan.Plan, base, head compile.Result) error {
	if head.Catalog != nil {
		p.Catalog = nameOf(head)
	}
	if !repriced(base, head) {
		return nil
	}
	before, err := base.Prices()
	if err != nil {
		return err
	}
	after, err := head.Prices()
	if err != nil {
		return err
	}
	stricter, err := JudgedBy(base, head)
	if err != nil {
		return err
	}
	r, err := plan.Reprice(head.Objects, offersFor(head, before), offersFor(head, after), offersFor(head, stricter))
	if err != nil {
		return err
	}
	r.From, r.To = nameOf(base), nameOf(head)
	p.Repriced = []plan.Repricing{r}
	return nil
}

// repriced reports whether a change alters the catalogue. A directory that does not exist has none.
func repriced(base, head compile.Result) bool {
	return base.Cluster != (config.Cluster{}) && head.Cluster != (config.Cluster{}) &&
		(nameOf(base) != nameOf(head) || !reflect.DeepEqual(base.Catalog, head.Catalog))
}

// JudgedBy is the catalogue that a change is evaluated with: that of the head, or catalog.Stricter if the change alters it.
func JudgedBy(base, head compile.Result) (*catalog.Catalog, error) {
	after, err := head.Prices()
	if err != nil || !repriced(base, head) {
		return after, err
	}
	before, err := base.Prices()
	if err != nil {
		return nil, err
	}
	return catalog.Stricter(before, after)
}

// nameOf names the catalogue of a directory, for use in a sentence.
func nameOf(c compile.Result) string {
	if c.Catalog == nil {
		return "the built-in catalogue"
	}
	return c.CatalogFile + " " + c.Catalog.Age()
}
