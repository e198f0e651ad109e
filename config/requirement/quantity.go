package requirement

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
)

// quantityPattern matches a Kubernetes quantity as people write amounts of memory: a decimal number
// and a suffix. It excludes suffixes below one (m, u, n) and scientific notation, because no plan
// type has a fraction of a byte.
var quantityPattern = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,9})?)(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)$`)

// mebibytes converts an amount to the value of a label in MiB. A number without a unit is already
// in MiB.
func mebibytes(text string) (string, error) {
	if whole(text) == nil {
		return text, nil
	}
	m := quantityPattern.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf(`%q is not an amount; write it as "8Gi", or as a whole number of MiB`, text)
	}
	amount, _ := new(big.Rat).SetString(m[1])
	amount.Mul(amount, new(big.Rat).SetInt(factor(m[2])))
	amount.Quo(amount, big.NewRat(1<<20, 1))
	if !amount.IsInt() {
		return "", fmt.Errorf(`%q is not a whole number of MiB; write it as "8Gi"`, text)
	}
	if !amount.Num().IsInt64() {
		return "", fmt.Errorf("%q is too large", text)
	}
	return strconv.FormatInt(amount.Num().Int64(), 10), nil
}

// factor returns the number of bytes of a suffix.
func factor(suffix string) *big.Int {
	exponents := map[byte]int64{'k': 1, 'K': 1, 'M': 2, 'G': 3, 'T': 4, 'P': 5}
	base := int64(1000)
	if len(suffix) == 2 {
		base = 1024
	}
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(exponents[suffix[0]]), nil)
}
