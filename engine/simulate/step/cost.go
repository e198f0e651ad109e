package step

import (
	"fmt"
	"math"
	"strconv"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Cost is what nodes cost. In a month a node costs no more than its monthly price.
type Cost struct {
	Hourly  catalog.Money `json:"hourly"`
	Monthly catalog.Money `json:"monthly"`
}

// Add adds another cost.
func (c *Cost) Add(other Cost) {
	c.Hourly += other.Hourly
	c.Monthly += other.Monthly
}

// Less is the cost without another.
func (c Cost) Less(other Cost) Cost {
	return Cost{Hourly: c.Hourly - other.Hourly, Monthly: c.Monthly - other.Monthly}
}

// Dollars writes money with so many decimals.
func Dollars(m catalog.Money, decimals int) string {
	unit := math.Pow10(decimals)
	return strconv.FormatFloat(math.Round(m.Float64()*unit)/unit, 'f', decimals, 64)
}

// Count writes a number of things: 1 pod, 2 pods; as diag.Counted does, which is not for
// those who know no configuration.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
