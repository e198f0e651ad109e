package catalog

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// factsDate is the day on which the recorded API answers.
const factsDate = "2026-09-15"

// TestTheSnapshotIsWhatTheAPIAnswers: what is read from some rows of the API is what the built-in snapshot has of them.
func TestTheSnapshotIsWhatTheAPIAnswers(t *testing.T) {
	got, err := Fetch(t.Context(), &http.Client{Transport: factsServer(t, 2)}, "https://api.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	snapshot := embedded(t)
	for _, plan := range got.Plans() {
		want, _ := snapshot.Plan(plan.ID)
		if diff := cmp.Diff(want, plan); diff != "" {
			t.Errorf("%s (-snapshot +API):\n%s", plan.ID, diff)
		}
	}
	for _, region := range got.Regions() {
		want, _ := snapshot.Region(region.ID)
		if diff := cmp.Diff(want, region); diff != "" {
			t.Errorf("%s (-snapshot +API):\n%s", region.ID, diff)
		}
	}
	for _, row := range got.Availability() {
		if !slices.Contains(snapshot.Availability(), row) {
			t.Errorf("the snapshot has not %+v", row)
		}
	}
	if n := len(got.Plans()) + len(got.Regions()) + len(got.Availability()); n != 18 {
		t.Errorf("%d facts were read", n)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// factsServer serves the recorded lists in pages of the given size and ignores the requested size.
func factsServer(t *testing.T, size int) roundTrip {
	data, err := os.ReadFile("testdata/price-list.json")
	if err != nil {
		t.Fatal(err)
	}
	var lists map[string][]json.RawMessage
	if err := json.Unmarshal(data, &lists); err != nil {
		t.Fatal(err)
	}
	return func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s: a token was sent to a public endpoint", r.URL)
		}
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		return answer(http.StatusOK, envelope(lists[path.Base(r.URL.Path)], n, size)), nil
	}
}

func envelope(rows []json.RawMessage, n, size int) string {
	pages := (len(rows) + size - 1) / size
	part := rows[min((n-1)*size, len(rows)):min(n*size, len(rows))]
	body, _ := json.Marshal(page[json.RawMessage]{Data: part, Page: n, Pages: pages, Results: len(rows)})
	return string(body)
}

func answer(status int, body string) *http.Response {
	day, _ := time.Parse(time.DateOnly, factsDate)
	return &http.Response{
		StatusCode: status,
		Status:     strconv.Itoa(status) + " " + http.StatusText(status),
		Header:     http.Header{"Date": {day.UTC().Format(http.TimeFormat)}},
		Body:       io.NopCloser(strings.NewReader(body)),
	}
}

func embedded(t testing.TB) *Catalog {
	t.Helper()
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
