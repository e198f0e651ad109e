package age

import (
	"fmt"
	"slices"
	"testing"
	"time"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/schemas"
)

// TestValuesThatAreNotAnAgeReplaceNoNode: anybody who may write NodePools can write any value.
func TestValuesThatAreNotAnAgeReplaceNoNode(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"720h": 720 * time.Hour, "10m": 10 * time.Minute, "": 0, "0s": 0, "-720h": 0, "720": 0, "1m": 0, "9m59s": 0, "Never": 0,
		"30d": 0, "\x00": 0, "99999999999999999h": 0, "720h\n": 0,
	} {
		pool := &karpv1.NodePool{}
		pool.Annotations = map[string]string{schemas.AnnotationRefreshAfter: value}
		if got, err := After(pool); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v; want %s", value, got, err, want)
		}
	}
	if got, err := After(&karpv1.NodePool{}); got != 0 || err != nil {
		t.Errorf("without the annotation: %s, %v", got, err)
	}
}

// TestNodesOfABurstAreDueApart: none after the age, none more than a tenth before it, and not many on one day.
func TestNodesOfABurstAreDueApart(t *testing.T) {
	const after = 720 * time.Hour
	created := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	var dues []time.Time
	for i := range 1000 {
		claim := fmt.Sprintf("web-%05x", i*7919)
		due := Due(created, claim, after)
		if old := due.Sub(created); old > after || old <= after-after/10 || !due.Equal(Due(created, claim, after)) {
			t.Errorf("%s is due at the age of %s", claim, old)
		}
		dues = append(dues, due)
	}
	slices.SortFunc(dues, time.Time.Compare)
	for i := 100; i < len(dues); i++ {
		if apart := dues[i].Sub(dues[i-100]); apart < 5*time.Hour { // 7h12m on average
			t.Fatalf("100 of 1000 nodes are due within %s", apart)
		}
	}
}
