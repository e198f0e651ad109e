package limits

import "testing"

// TestMemoryIsWrittenInRoundUnits, and what a limit would have to allow is not rounded down.
func TestMemoryIsWrittenInRoundUnits(t *testing.T) {
	const gi = 1 << 30
	for n, want := range map[int64]string{
		800 * gi: "800Gi of memory", 854995796798: "796.3Gi of memory", 7990615778: "7.4Gi of memory", 512 << 20: "512Mi of memory",
	} {
		if got := inUnits(Memory, n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for wanted, want := range map[int64]string{
		800 * gi: "800Gi", 800*gi + 1: "800.1Gi", 800*gi + gi/10: "800.1Gi", 862986412576: "803.8Gi",
	} {
		r := Refusal{Resource: Memory, Used: wanted - 5, Wanted: 5}
		if got := neededAmounts([]Refusal{r}); got != "to create one more such node, raise the limit to "+want+" of memory" {
			t.Errorf("%d: %s, want %s", wanted, got, want)
		}
	}
}
