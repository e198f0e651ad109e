package catalog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Money is an amount of US dollars, in millionths. Prices have at most four decimals, so sums of them are exact.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000

// Price is the price of a plan: by the hour, until the cost in a calendar month reaches the monthly price. Without
// an hourly price it is unknown, because no plan is free.
type Price struct {
	Hourly  Money `json:"hourly"`
	Monthly Money `json:"monthly"`
}

// Known reports whether the price is known.
func (p Price) Known() bool { return p.Hourly > 0 }

// normal returns the same value for all unknown prices.
func (p Price) normal() Price {
	if !p.Known() {
		return Price{}
	}
	return p
}

// AnHour formats the hourly price: "$0.036 an hour".
func (p Price) AnHour() string {
	if !p.Known() {
		return "at an unknown price"
	}
	return "$" + p.Hourly.String() + " an hour"
}

// HoursPerMonth is an average month; cost reports use it. Linode itself bills by the calendar month.
const HoursPerMonth = 730

// For returns the cost of running that many hours within one calendar month: hourly, capped at the monthly price.
// (The cap is reached after some 670 hours: a node that stays costs 24.00 where 730 hours would have been 26.28.)
func (p Price) For(hours int) Money {
	cost := p.Hourly * Money(hours)
	if p.Monthly > 0 && cost > p.Monthly {
		return p.Monthly
	}
	return cost
}

// PerMonth returns the cost of a node that stays for an average month.
func (p Price) PerMonth() Money { return p.For(HoursPerMonth) }

// String writes dollars with as many decimals as the amount needs, and none for whole dollars: "0.036", "24".
func (m Money) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", uint64(-m)
	}
	s := sign + strconv.FormatUint(n/uint64(Dollar), 10)
	if frac := n % uint64(Dollar); frac != 0 {
		s += "." + strings.TrimRight(fmt.Sprintf("%06d", frac), "0")
	}
	return s
}

// Text formats an amount: "$1,296", with cents only if it has any: "$80.30".
func (m Money) Text() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", uint64(-m)
	}
	const cent = uint64(Dollar / 100)
	cents := n / cent
	if n%cent >= cent/2 {
		cents++
	}
	digits := strconv.FormatUint(cents/100, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if cents%100 != 0 {
		digits += fmt.Sprintf(".%02d", cents%100)
	}
	return sign + "$" + digits
}

// Float64 returns the amount in dollars, for interfaces that need a float. Do not add up the results.
func (m Money) Float64() float64 { return float64(m) / float64(Dollar) }

var errMoney = errors.New("not an amount of dollars with up to six decimals")

// ParseMoney reads what [Money.String] writes, and other plain decimals below a trillion dollars.
func ParseMoney(s string) (Money, error) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(frac) > 6 {
		frac = strings.TrimRight(frac, "0")
	}
	if s == "" || s == "." || len(whole) > 12 || len(frac) > 6 {
		return 0, fmt.Errorf("%.40q: %w", s, errMoney)
	}
	n, err := strconv.ParseInt(whole+frac+strings.Repeat("0", 6-len(frac)), 10, 64)
	if err != nil || strings.ContainsAny(frac, "+-") {
		return 0, fmt.Errorf("%.40q: %w", s, errMoney)
	}
	return Money(n), nil
}

// MarshalJSON writes a JSON number, as the API does.
func (m Money) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalJSON reads a JSON number without going through a float. null, which the API allows, is no amount.
func (m *Money) UnmarshalJSON(data []byte) (err error) {
	if string(data) == "null" {
		return nil
	}
	*m, err = ParseMoney(string(data))
	return err
}

const unknown = "?"

// ParsePrice reads what [Price.String] writes.
func ParsePrice(s string) (Price, error) {
	if s == unknown {
		return Price{}, nil
	}
	hourly, monthly, ok := strings.Cut(s, "/")
	if !ok {
		return Price{}, fmt.Errorf("price %.40q: want HOURLY/MONTHLY, or ? for a price that is not known", s)
	}
	h, err := ParseMoney(hourly)
	if err != nil {
		return Price{}, err
	}
	m, err := ParseMoney(monthly)
	if err != nil {
		return Price{}, err
	}
	return Price{Hourly: h, Monthly: m}, nil
}

// String writes the price by the hour and the month: "0.036/24"; "?" if it is not known.
func (p Price) String() string {
	if !p.Known() {
		return unknown
	}
	return p.Hourly.String() + "/" + p.Monthly.String()
}
