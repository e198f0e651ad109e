package linode

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestARefusalIsNotInstant: a NodeClaim that is deleted while Karpenter creates others of its batch stops all of
// Karpenter's planning for 15 seconds.
func TestARefusalIsNotInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := readyClass()
		broken.StatusConditions().SetFalse(linodev1alpha1.ConditionValidationSucceeded, "Invalid", "no")
		for name, p := range map[string]*Provider{
			"no room":               provider(t, readyClass(), nodePool(), capped("none", nodes(0))),
			"a class that is wrong": provider(t, broken, nodePool()),
		} {
			nc := undecided(1)
			nc.CreationTimestamp = metav1.Now()
			start := time.Now()
			if _, err := p.Create(t.Context(), nc); err == nil {
				t.Errorf("%s: the claim is not refused", name)
			}
			if took := time.Since(start); took < 2*time.Second {
				t.Errorf("%s: refused after %s", name, took)
			}
			start = time.Now()
			if _, err := p.Create(t.Context(), nc); err == nil || time.Since(start) > 0 {
				t.Errorf("%s: an old claim is refused after %s: %v", name, time.Since(start), err)
			}
		}
	})
}
