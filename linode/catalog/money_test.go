package catalog

import "testing"

func TestMoney(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want Money
		out  string
	}{
		{"0.036", 36_000, "0.036"},
		{"24.0", 24 * Dollar, "24"},
		{"0.0075", 7_500, "0.0075"},
		{"7741.44", 7_741_440_000, "7741.44"},
		{"-1.5", -1_500_000, "-1.5"},
		{"-0.25", -250_000, "-0.25"},
		{"0", 0, "0"},
		{"1.00000000", Dollar, "1"},
	} {
		got, err := ParseMoney(tc.in)
		if err != nil || got != tc.want || got.String() != tc.out {
			t.Errorf("ParseMoney(%q) = %d (%s), %v", tc.in, got, got, err)
		}
	}
	for _, in := range []string{"", ".", "x", "1.-5", "1.2.3", "0.0000001", "1e-3", "9999999999999", "NaN"} {
		if got, err := ParseMoney(in); err == nil {
			t.Errorf("ParseMoney(%q) = %s; want an error", in, got)
		}
	}
}

func TestMoneyForPeople(t *testing.T) {
	for m, want := range map[Money]string{
		0: "$0", 24 * Dollar: "$24", 1296 * Dollar: "$1,296", 80_300_000: "$80.30", 80_304_999: "$80.30", 80_305_000: "$80.31",
		999_995_000: "$1,000", -1_234_567_890_000: "-$1,234,567.89",
	} {
		if got := m.Text(); got != want {
			t.Errorf("%d is %s, want %s", m, got, want)
		}
	}
}

func TestMonthlyPriceIsACap(t *testing.T) {
	p := Price{Hourly: 36_000, Monthly: 24 * Dollar}
	for hours, want := range map[int]string{0: "0", 1: "0.036", 666: "23.976", 667: "24", 730: "24", 744: "24"} {
		if got := p.For(hours).String(); got != want {
			t.Errorf("%d hours cost %s; want %s", hours, got, want)
		}
	}
	if got := p.PerMonth(); got != p.Monthly {
		t.Errorf("a month costs %s", got)
	}
	if got := (Price{Hourly: 1_000}).PerMonth().Float64(); got != 0.73 {
		t.Errorf("without a monthly price a month costs %v", got)
	}
}
