package text

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	sunday := time.Date(2026, time.November, 29, 16, 4, 5, 0, time.FixedZone("CET", 3600))
	names := []string{"a", "b", "c"}
	for _, tt := range [][2]string{
		{Count(0, "node"), "0 nodes"}, {Count(1, "node"), "1 node"}, {Count(2, "alias"), "2 aliases"},
		{CountAre(1, "pod"), "1 pod is"}, {CountAre(2, "pod"), "2 pods are"},
		{List(nil, 2), "none"}, {List(names[:1], 2), "a"}, {List(names[:2], 2), "a and b"}, {List(names, 2), "a, b and 1 more"},
		{List(names, 3), "a, b and c"},
		{Time(sunday), "2026-11-29 15:04 UTC"}, {DayTime(sunday), "Sun 2026-11-29 15:04 UTC"}, {SoonTime(sunday), "Sun 29 Nov 15:04 UTC"},
		{Duration(8 * time.Hour), "8h"}, {Duration(90 * time.Minute), "1h30m"}, {Duration(0), "0s"},
		{Age(-time.Second), "0s"}, {Age(64 * time.Second), "1m4s"}, {Age(28*time.Minute + 3*time.Second), "28m"},
		{Age(90 * time.Minute), "1h30m"}, {Age(30*time.Hour + time.Minute), "30h"}, {Age(80 * time.Hour), "3d"},
	} {
		if tt[0] != tt[1] {
			t.Errorf("got %q, want %q", tt[0], tt[1])
		}
	}
}

func TestColumnsAreAligned(t *testing.T) {
	got := strings.Join(Columns([][]string{{"POOL", "NODES", "STATE"}, {"é", "12"}, {"general", "3", "ready"}}, 1), "\n")
	want := "POOL     NODES  STATE\né           12\ngeneral      3  ready"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
