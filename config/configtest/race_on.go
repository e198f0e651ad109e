//go:build race

package configtest

// Slower is the factor by which everything is slower with the race detector.
const Slower = 20
