package compare

import (
	"reflect"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// NameCatalog sets the price catalogue of a plan, and whether the change alters it.
func NameCatalog(p *plan.Plan, base, head compile.Result) {
	if head.Catalog != nil {
		p.Catalog = nameOf(head)
	}
	p.Repriced = changesCatalog(base, head)
}

// JudgedBy returns the catalogue for the costs of a change: that of the head, or catalog.Stricter if the change
// alters the catalogue. So a change cannot alter the prices and sizes with which guards and policies evaluate it.
func JudgedBy(base, head compile.Result, after *catalog.Catalog) (*catalog.Catalog, error) {
	if !changesCatalog(base, head) {
		return after, nil
	}
	before, err := base.Prices()
	if err != nil {
		return nil, err
	}
	return catalog.Stricter(before, after)
}

// changesCatalog reports whether a change alters the catalogue. A directory that does not exist has none.
func changesCatalog(base, head compile.Result) bool {
	return base.Cluster != (config.Cluster{}) && head.Cluster != (config.Cluster{}) &&
		(nameOf(base) != nameOf(head) || !reflect.DeepEqual(base.Catalog, head.Catalog))
}

// nameOf names the catalogue of a directory, for use in a sentence.
func nameOf(c compile.Result) string {
	if c.Catalog == nil {
		return "the built-in catalogue"
	}
	return c.CatalogFile + c.Catalog.Age()
}
