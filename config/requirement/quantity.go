package requirement

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
)

// quantityPattern is a Kubernetes quantity as people write amounts of memory:
// a decimal number and a suffix. Quantities below one (m, u, n) and in
// scientific notation are left out: no plan has a fraction of a byte.
var quantityPattern = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,9})?)(Ki|Mi|Gi|Ti|Pi|k|M|G|T|P)$`)

// mebibytes turns an amount into a label that counts MiB. A bare number is
// taken to be in MiB already, as the label has it.
func mebibytes(text string) (string, error) {
	if whole(text) == nil {
		return text, nil
	}
	m := quantityPattern.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf(`%q is not an amount; write it like "8Gi", or as a whole number of MiB`, text)
	}
	amount, _ := new(big.Rat).SetString(m[1])
	amount.Mul(amount, new(big.Rat).SetInt(factor(m[2])))
	amount.Quo(amount, big.NewRat(1<<20, 1))
	if !amount.IsInt() {
		return "", fmt.Errorf(`%q is not a whole number of MiB; write it like "8Gi"`, text)
	}
	if !amount.Num().IsInt64() {
		return "", fmt.Errorf("%q is too large", text)
	}
	return strconv.FormatInt(amount.Num().Int64(), 10), nil
}

// factor is the number of bytes a suffix stands for.
func factor(suffix string) *big.Int {
	exponents := map[byte]int64{'k': 1, 'K': 1, 'M': 2, 'G': 3, 'T': 4, 'P': 5}
	base := int64(1000)
	if len(suffix) == 2 {
		base = 1024
	}
	return new(big.Int).Exp(big.NewInt(base), big.NewInt(exponents[suffix[0]]), nil)
}
