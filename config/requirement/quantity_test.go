package requirement

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// FuzzMebibytes compares amounts with the value of the same text in Kubernetes.
func FuzzMebibytes(f *testing.F) {
	for _, text := range []string{"8Gi", "8192Mi", "1.5Gi", "1G", "1048576k", "0.5Mi", "8192", "1Ti", "1e3", "-1Gi",
		"Gi", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := mebibytes(text)
		if err != nil || whole(text) == nil {
			return // rejected, or already a number of MiB
		}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			t.Fatalf("%q is taken for %s MiB, and Kubernetes does not read it: %v", text, got, err)
		}
		want, err := resource.ParseQuantity(got + "Mi")
		if err != nil || q.Cmp(want) != 0 {
			t.Errorf("%q is taken for %s MiB, and by Kubernetes for %s bytes", text, got,
				strconv.FormatInt(q.Value(), 10))
		}
	})
}
