package report

import (
	"flag"
	"fmt"
	"html/template"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update is the one flag of all golden files.
var update = flag.Bool("update", false, "rewrite golden files with what comes out")

// written is a report in one format.
func written(t testing.TB, format string, r Report, o Options) string {
	t.Helper()
	var b strings.Builder
	if o.Target == "" {
		o.Target, o.Version = "clusters/prod", "v1.2.3"
	}
	if err := Write(&b, format, r, o); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

// golden compares with a file, or with -update rewrites it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", file, diff)
	}
}

var plans = map[string]Report{"rich": rich(), "offline": offline(), "empty": {}}

// TestFormats compares each format of each plan with a file.
func TestFormats(t *testing.T) {
	for name, r := range plans {
		for _, format := range Formats() {
			// The style sheet is looked at, not compared.
			got := strings.NewReplacer(pageCSS, "", template.HTMLEscapeString(policy()), "").Replace(written(t, format, r, Options{}))
			golden(t, "testdata/"+name+"."+format, got)
		}
	}
	golden(t, "testdata/rich.text-80", written(t, "text", rich(), Options{Width: 80, ASCII: true}))
	golden(t, "testdata/rich.text-color", written(t, "text", rich(), Options{Color: true}))
}

// TestEqualPlansGiveEqualBytes writes each format fifty times.
func TestEqualPlansGiveEqualBytes(t *testing.T) {
	for _, format := range Formats() {
		want := written(t, format, rich(), Options{})
		for range 50 {
			if got := written(t, format, rich(), Options{}); got != want {
				t.Fatalf("%s: (-first +later)\n%s", format, cmp.Diff(want, got))
			}
		}
	}
}

// TestMessagesComeInOrder: the first is Begin, the last Summary, and whoever
// stops reading gets no more.
func TestMessagesComeInOrder(t *testing.T) {
	var kinds []string
	for m := range rich().Messages() {
		kind := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", m), "report."))
		if len(kinds) == 0 || kinds[len(kinds)-1] != kind {
			kinds = append(kinds, kind)
		}
	}
	if diff := cmp.Diff([]string{"begin", "diagnostic", "change", "migration", "drift", "verdict", "note", "summary"}, kinds); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	n := 0
	for range rich().Messages() {
		if n++; n == 3 {
			break
		}
	}
}
