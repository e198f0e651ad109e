package requirement

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

// quantityPattern matches a Kubernetes quantity as people write amounts of memory: a decimal number
// and a suffix. It excludes suffixes below one (m, u, n) and scientific notation, because no plan
// type has a fraction of a byte.
var quantityPattern = regexp.MustCompile(`^[0-9]{1,15}(\.[0-9]{1,9})?(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)$`)

// mebibytes converts an amount to the value of a label in MiB. A number without a unit is already
// in MiB.
func mebibytes(text string) (string, error) {
	if whole(text) == nil {
		return text, nil
	}
	amount, err := resource.ParseQuantity(text)
	if err != nil || !quantityPattern.MatchString(text) {
		return "", fmt.Errorf(`%q is not an amount; write it as "8Gi", or as a whole number of MiB`, text)
	}
	n := amount.Value() >> 20
	switch {
	case n >= math.MaxInt64>>20:
		return "", fmt.Errorf("%q is too large", text)
	case amount.Cmp(*resource.NewQuantity(n<<20, resource.BinarySI)) != 0:
		return "", fmt.Errorf(`%q is not a whole number of MiB; write it as "8Gi"`, text)
	}
	return strconv.FormatInt(n, 10), nil
}
