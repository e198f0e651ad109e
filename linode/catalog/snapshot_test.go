package catalog

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSnapshotRoundTrip(t *testing.T) {
	odd, err := New("2026-01-02", `a "quoted" source # not a comment`,
		[]Plan{
			{ID: "g6-a", Label: `say "x=y"`, Class: "gpu", GPUs: 2, AcceleratedDevices: 1, Successor: "g7-a",
				Price: Price{Hourly: 1}, RegionPrices: map[string]Price{"x": {2, 5 * Dollar}, "y": {}}},
			{ID: "g6-b", From: "a list, 2026-01"},
		},
		[]Region{{ID: "x", Label: "Zürich, CH", Capabilities: []string{"A B", "C"}}, {ID: "y"}},
		[]Availability{{"x", "g6-a", true}, {"y", "g6-a", false}, {"x", "other", false}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]*Catalog{"embedded": embedded(t), "odd": odd} {
		first, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Catalog{})); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
		second, err := got.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Errorf("%s: bytes (-first +second):\n%s", name, diff)
		}
	}
}

func TestEmbeddedIsWritten(t *testing.T) {
	text, err := embedded(t).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(snapshot), string(text)); diff != "" {
		t.Errorf("snapshot.txt is not as MarshalText writes it (-file +written):\n%s", diff)
	}
}

// TestEmbeddedHasAllPlansOfThePriceList: as many of each class as a probe of the public API counted on 2026-09-17.
func TestEmbeddedHasAllPlansOfThePriceList(t *testing.T) {
	got := map[string]int{}
	for _, p := range embedded(t).Plans() {
		got[p.Class]++
	}
	want := map[string]int{
		"nanode": 1, "standard": 9, "highmem": 5, "dedicated": 33, "premium": 8, "gpu": 13, "accelerated": 6,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plans by class (-probe +snapshot):\n%s", diff)
	}
}

// TestEmbeddedIsNoNewerThanItsRows: what is shown as the date of all rows is not newer than one of them, and what has
// its own source has its own date. An unknown value of a row is not a value of the list.
func TestEmbeddedIsNoNewerThanItsRows(t *testing.T) {
	c := embedded(t)
	if c.Date() != "" {
		t.Errorf("the recordings have no date, and %q is shown", c.Date())
	}
	for _, p := range c.Plans() {
		if p.From == "" && (!p.Price.Known() || !p.Sized()) {
			t.Errorf("%s lacks a fact and does not say where it is from", p.ID)
		}
		if p.From != "" && !strings.Contains(p.From, "2026") {
			t.Errorf("%s is from %q, without a date", p.ID, p.From)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	const head = "lkeplan-catalog 1\n"
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "empty; want a first line"},
		{"other", "hello\n", "not a catalog snapshot"},
		{"newer", "lkeplan-catalog 2\n", "this build reads version 1"},
		{"kind", head + "prices x\n", `line 2: "prices"`},
		{"no name", head + "plan\n", "line 2: plan: want a name"},
		{"field", head + "plan a colour=red\n", `line 2: plan a: unknown field "colour=red"`},
		{"count", head + "plan a vcpus=many\n", "vcpus: \"many\" is not a count"},
		{"negative", head + "plan a vcpus=-1\n", "not a count"},
		{"price", head + "plan a price=1\n", "want HOURLY/MONTHLY"},
		{"region price", head + "plan a price@x=1/y\n", "not an amount"},
		{"quote", head + `region a label="x` + "\n", "with quotes around a value"},
		{"a line of its own", head + "plan a from=\"x\\n::error::y\"\n", "is not one line of text"},
		{"twice", head + "plan a\nplan a\n", `plan "a": listed twice`},
		{"limited", head + "limited a maybe=x\n", "limited a: unknown field"},
		{"date", head + "date 2026-01-01 x=y\n", "unknown field"},
		{"size", head + strings.Repeat("#", MaxSnapshot), "larger than"},
	} {
		_, err := Read(strings.NewReader(tc.in))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v; want %q", tc.name, err, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("lkeplan-catalog 1\n# n\ndate 2026-01-02\nsource \"a b\"\nregion x label=\"X, Y\" can=A can=\"B C\"\n"))
	f.Add([]byte("lkeplan-catalog 1\nplan a label=\"b\" vcpus=1 price=0.018/12 price@x=1/2 price@y=?\n" +
		"limited a sold=x,y withheld=z\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		text, err := c.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("read what was written: %v", err)
		}
		if diff := cmp.Diff(c, again, cmp.AllowUnexported(Catalog{})); diff != "" {
			t.Error(diff)
		}
	})
}
