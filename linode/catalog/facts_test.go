package catalog

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite snapshot.txt from the recorded facts")

// The recorded answers lie in a directory beside the repository, where they are there at all.
const (
	factsDir  = "../../../shared/data"
	factsDate = "2026-09-15"
	// The recordings carry no dates of their own; they are older than the day on which they were gathered.
	factsSource = "recordings of the public API in linodego's integration tests"
)

func TestEmbeddedFacts(t *testing.T) {
	want := factsCatalog(t)
	if *update {
		var b bytes.Buffer
		if err := want.Write(&b); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("snapshot.txt", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skip("snapshot.txt rewritten")
	}
	got := embedded(t)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Catalog{})); diff != "" {
		t.Errorf("the snapshot differs from the facts; run with -update (-facts +snapshot):\n%s", diff)
	}
}

// factsCatalog fetches the recorded facts as if a server answered with them.
func factsCatalog(t *testing.T) *Catalog {
	t.Helper()
	if _, err := os.Stat(factsDir); err != nil {
		t.Skip("the recorded facts are not beside this repository")
	}
	client := &http.Client{Transport: factsServer(t, 100)}
	c, err := Fetch(t.Context(), client, "https://api.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	c, err = New(c.Date(), factsSource, c.Plans(), c.Regions(), c.Availability())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// factsServer serves the recorded lists in pages of the given size, whatever size is asked for.
func factsServer(t *testing.T, size int) roundTrip {
	files := map[string]string{
		"/v4/linode/types":         "types.json",
		"/v4/regions":              "regions.json",
		"/v4/regions/availability": "availability.json",
	}
	return func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s: a token was sent to a public endpoint", r.URL)
		}
		data, err := os.ReadFile(filepath.Join(factsDir, files[r.URL.Path]))
		if err != nil {
			return nil, err
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, err
		}
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		return answer(http.StatusOK, envelope(rows, n, size)), nil
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
