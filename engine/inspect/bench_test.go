package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
)

// BenchmarkStatus is of 200 pools with 1,000 nodes, of which every twentieth will be
// replaced, 5,000 pods and 500 waiting ones.
func BenchmarkStatus(b *testing.B) {
	lists := cluster.Of(largeCluster(b), nil)
	given := inspect.Given{Catalog: prices(b), Now: now}
	b.ReportAllocs()
	for b.Loop() {
		found, err := inspect.NewStatus(lists, given)
		if err != nil {
			b.Fatal(err)
		}
		if text := found.Text(inspect.StatusView{Width: 120}); !strings.Contains(text, "500 pods are waiting") {
			b.Fatal(text)
		}
	}
}

// TestStatusOfALargeClusterIsFast evaluates lists that it has.
func TestStatusOfALargeClusterIsFast(t *testing.T) {
	lists := cluster.Of(largeCluster(t), nil)
	given := inspect.Given{Catalog: prices(t), Now: now}
	configtest.Within(t, time.Second, func() {
		if _, err := inspect.NewStatus(lists, given); err != nil {
			t.Fatal(err)
		}
	})
}
