package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFetchReadsAllPages(t *testing.T) {
	var paths []string
	list := func(r *http.Request) (*http.Response, error) {
		paths = append(paths, r.URL.RequestURI())
		row := `{"id":"a%[1]s","label":"A","class":"standard","price":{"hourly":0.018,"monthly":null},` +
			`"region_prices":[],"region":"r","plan":"p"}`
		n := r.URL.Query().Get("page")
		return answer(http.StatusOK, fmt.Sprintf(`{"data":[`+row+`],"page":%[1]s,"pages":2,"results":2}`, n)), nil
	}
	c, err := Fetch(t.Context(), &http.Client{Transport: roundTrip(list)}, "https://api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 6 || len(c.Plans()) != 2 || len(c.Regions()) != 2 {
		t.Errorf("%d plans, %d regions after %v", len(c.Plans()), len(c.Regions()), paths)
	}
	if want := "/v4/linode/types?page=2&page_size=500"; paths[1] != want {
		t.Errorf("second call %s; want %s", paths[1], want)
	}
	if p, _ := c.Price("a1", "x"); p.String() != "0.018/0" {
		t.Errorf("price %s", p)
	}
	if c.Date() != factsDate || c.Source() != "https://api.example.com" {
		t.Errorf("date %q, source %q", c.Date(), c.Source())
	}
}

func TestFetchFails(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		name   string
		ctx    context.Context
		status int
		body   string
		want   []string
	}{
		{
			"status", t.Context(), 503, "<html>busy</html>", []string{
				"https://api.example.com/v4/linode/types?page=1", "503", "busy",
			},
		},
		{"not json", t.Context(), 200, "<html>", []string{"/v4/linode/types", "decode answer"}},
		{"too large", t.Context(), 200, strings.Repeat(" ", maxBody+1), []string{"/v4/linode/types", "larger than"}},
		{"endless", t.Context(), 200, `{"data":[],"pages":1000000}`, []string{"more than 50 pages"}},
		{"nothing", t.Context(), 200, `{"data":[],"pages":1}`, []string{"0 plans and 0 regions"}},
		{
			"price", t.Context(), 200, `{"data":[{"id":"x","price":{"hourly":1e-9}}],"pages":1}`,
			[]string{"decode answer", "amount of dollars"},
		},
		{"ended", ended, 200, `{}`, []string{"canceled"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := func(r *http.Request) (*http.Response, error) {
				if err := r.Context().Err(); err != nil {
					return nil, err
				}
				return answer(tc.status, tc.body), nil
			}
			_, err := Fetch(tc.ctx, &http.Client{Transport: roundTrip(server)}, "https://api.example.com")
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v; want %q", err, want)
				}
			}
			if tc.name == "ended" && !errors.Is(err, context.Canceled) {
				t.Errorf("%v is not a cancellation", err)
			}
		})
	}
}

func TestAvailabilityRowsDefaultToRequestedRegion(t *testing.T) {
	answer := `[{"plan":"g7-premium-4","available":false},{"region":"us-ord","plan":"g7-premium-8","available":true}]`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v4/regions/us-ord/availability" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, answer)
	}))
	defer server.Close()
	rows, err := FetchAvailability(t.Context(), server.Client(), server.URL, "us-ord")
	want := []Availability{{"us-ord", "g7-premium-4", false}, {"us-ord", "g7-premium-8", true}}
	if d := cmp.Diff(want, rows); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	answer = `[{"region":"us-sea","plan":"g7-premium-4","available":false}]`
	if _, err := FetchAvailability(t.Context(), server.Client(), server.URL, "us-ord"); err == nil {
		t.Error("rows of another region are taken")
	}
}

// TestUnavailablePlanIsSold: rows are about stock at a moment. No row means available.
func TestUnavailablePlanIsSold(t *testing.T) {
	plans := []Plan{{ID: "a", Class: "dedicated"}, {ID: "b", Class: "dedicated"}, {ID: "c", Class: "dedicated"}}
	regions := []Region{{ID: "r", Capabilities: []string{CapKubernetes, CapLinodes}}}
	c, err := New("", "", plans, regions, []Availability{{"r", "a", false}, {"other", "b", true}})
	if err != nil {
		t.Fatal(err)
	}
	for plan, inStock := range map[string]bool{"a": false, "b": true, "c": true} {
		if !c.Sold(plan, "r", Standard) || c.InStock(plan, "r") != inStock {
			t.Errorf("%s: sold %v, in stock %v", plan, c.Sold(plan, "r", Standard), c.InStock(plan, "r"))
		}
	}
}

// TestPlansThatLKEDoesNotTake: Cloud Manager hides them.
func TestPlansThatLKEDoesNotTake(t *testing.T) {
	var plans []Plan
	for _, id := range []string{"g1-gpu-rtx6000-1", "g2-gpu-rtx4000a1-s", "g3-gpu-rtxpro6000-blackwell-1"} {
		plans = append(plans, Plan{ID: id, Class: "gpu", GPUs: 1})
	}
	c, err := New("", "", plans, []Region{{
		ID: "r", Capabilities: []string{CapKubernetes, CapKubernetesEnterprise, CapLinodes, CapGPU},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for tier, want := range map[Tier][]bool{
		Standard: {false, true, true}, Enterprise: {false, false, false}, Instances: {true, true, true},
	} {
		for i, p := range plans {
			if got := c.Sold(p.ID, "r", tier); got != want[i] {
				t.Errorf("%s on %s is sold: %v", p.ID, tier, got)
			}
		}
	}
}
