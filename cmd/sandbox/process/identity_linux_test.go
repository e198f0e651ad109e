package process

import "testing"

func TestParseStat(t *testing.T) {
	const rest = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 99"
	for _, test := range []struct {
		line, state, start string
		bad                bool
	}{
		{line: "12 (sleep) S " + rest, state: "S", start: "4711"},
		{line: "12 (a) b) c (d) R " + rest, state: "R", start: "4711"},
		{line: "12 (gone) Z " + rest, state: "Z", start: "4711"},
		{line: "12 (short) S 1 2", bad: true},
		{line: "", bad: true},
	} {
		state, start, err := parseStat([]byte(test.line))
		if (err != nil) != test.bad || state != test.state || start != test.start {
			t.Errorf("parseStat(%q) = %q, %q, %v", test.line, state, start, err)
		}
	}
}
