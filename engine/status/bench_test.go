package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/status"
	"github.com/lkeplan/lkeplan/engine/status/statustest"
)

// BenchmarkStatus is of 200 pools with 1,000 nodes, of which each twentieth is to be
// replaced, 5,000 pods and 500 that wait.
func BenchmarkStatus(b *testing.B) {
	lists := cluster.Of(statustest.Large(b), nil)
	given := status.Given{Catalog: prices(b), Now: now}
	b.ReportAllocs()
	for b.Loop() {
		found, err := status.Of(lists, given)
		if err != nil {
			b.Fatal(err)
		}
		if text := found.Text(status.View{Width: 120}); !strings.Contains(text, "500 pods wait") {
			b.Fatal(text)
		}
	}
}

// TestALargeClusterTakesLessThanASecond of processor time, the lists aside.
func TestALargeClusterTakesLessThanASecond(t *testing.T) {
	lists := cluster.Of(statustest.Large(t), nil)
	given := status.Given{Catalog: prices(t), Now: now}
	var err error
	took := configtest.CPU(func() { _, err = status.Of(lists, given) })
	if t.Logf("%s", took); err != nil || took > time.Second {
		t.Errorf("it takes %s: %v", took, err)
	}
}
