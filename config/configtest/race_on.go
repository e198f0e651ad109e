//go:build race

package configtest

// Slower is how much more time everything may take where data races are looked for.
const Slower = 20
