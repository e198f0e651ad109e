package catalog_test

import (
	"fmt"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// The built-in snapshot of Linode's price list answers without a network.
func ExampleEmbedded() {
	prices, err := catalog.Embedded()
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, _ := prices.Plan("g6-standard-2")
	fmt.Printf("%s: %d CPUs, %d MiB\n", plan.Label, plan.VCPUs, plan.MemoryMiB)
	for _, region := range []string{"us-ord", "br-gru"} {
		price, _ := prices.Price(plan.ID, region)
		sold := prices.Sold(plan.ID, region, catalog.Standard)
		fmt.Printf("%s: $%s a month, sold for LKE: %v\n", region, price.Monthly, sold)
	}
	// Output:
	// Linode 4GB: 2 CPUs, 4096 MiB
	// us-ord: $24 a month, sold for LKE: true
	// br-gru: $33.6 a month, sold for LKE: true
}
