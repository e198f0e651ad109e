//go:build !race

package inspect_test

// slower is the factor by which everything is slower with the race detector.
const slower = 1
