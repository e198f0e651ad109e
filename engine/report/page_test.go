package report

import (
	"slices"
	"strings"
	"testing"
)

// TestValuesAreCutBetweenEscapes: \u001b that loses its end is another text.
func TestValuesAreCutBetweenEscapes(t *testing.T) {
	p := newTextPage(0, false, false)
	text := `ab\u001b[31m\"\U000e0001\nz`
	for limit := range 30 {
		got := strings.TrimSuffix(p.cut(text, limit), "…")
		if left := text[len(got):]; !strings.HasPrefix(text, got) || slices.ContainsFunc([]string{"u001b", "001b", "01b", "1b[", "U000e0001", "000e0001", "e0001", `"\U`, "nz"}, func(rest string) bool { return strings.HasPrefix(left, rest) }) {
			t.Errorf("cut to %d: %q", limit, got)
		}
		if width(p.cut(text, limit)) > max(1, limit) {
			t.Errorf("cut to %d: %q", limit, p.cut(text, limit))
		}
	}
}
