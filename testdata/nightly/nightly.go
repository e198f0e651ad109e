// Package nightly reports whether tests run as make nightly runs them: longer, and with more cases.
package nightly

import "os"

// On reports whether LKEPLAN_NIGHTLY is set, as make nightly sets it.
func On() bool { return os.Getenv("LKEPLAN_NIGHTLY") != "" }

// Or returns the second number in make nightly, and else the first.
func Or(usual, nightly int) int {
	if On() {
		return nightly
	}
	return usual
}
