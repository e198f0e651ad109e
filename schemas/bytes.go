package schemas

import (
	"math"
	"strconv"
)

// Bytes formats an amount of memory for people, with at most one decimal place: 305.1Gi.
func Bytes(n int64) string {
	const gi, mi = 1 << 30, 1 << 20
	if n == 0 {
		return "0"
	}
	if n < gi {
		return strconv.FormatFloat(math.Round(float64(n)/mi), 'f', -1, 64) + "Mi"
	}
	return strconv.FormatFloat(math.Round(float64(n)/gi*10)/10, 'f', -1, 64) + "Gi"
}
