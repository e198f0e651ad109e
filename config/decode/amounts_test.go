package decode

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// FuzzQuantity: an accepted amount is valid in Kubernetes, and not negative.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"400", "1600Gi", "500m", "1.5", "1.", "1e3", "1E", "1E3", "7k", "0", "1n", "1e999",
		"12345678901234567890"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !quantityPattern.MatchString(text) {
			return
		}
		if q, err := resource.ParseQuantity(text); err != nil || q.Sign() < 0 {
			t.Errorf("%q is accepted, but Kubernetes returns %v, %v", text, q.String(), err)
		}
	})
}
