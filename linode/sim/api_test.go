package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func TestPaging(t *testing.T) {
	a := newAccount(t, Config{})
	a.makePool(60, nil)
	for _, tc := range []struct {
		query       string
		rows, pages int
		refused     string
	}{
		{"", 60, 1, ""},
		{"?page=1&page_size=25", 25, 3, ""},
		{"?page=3&page_size=25", 10, 3, ""},
		{"?page=1&page_size=500", 60, 1, ""},
		{"?page=4&page_size=25", 0, 0, "404 Not found"},
		{"?page_size=24", 0, 0, "400 page_size: Must be 25-500"},
		{"?page_size=501", 0, 0, "400 page_size: Must be 25-500"},
		{"?page=0", 0, 0, "400 page: Must be 1 or greater"},
		{"?page=x", 0, 0, "400 page: Must be 1 or greater"},
	} {
		if tc.refused != "" {
			if got := a.refused("GET", "/linode/instances"+tc.query, nil); got != tc.refused {
				t.Errorf("%s: %q; want %q", tc.query, got, tc.refused)
			}
			continue
		}
		var p page[Instance]
		a.do("GET", "/linode/instances"+tc.query, nil, &p)
		if len(p.Data) != tc.rows || p.Pages != tc.pages || p.Results != 60 {
			t.Errorf("%s: %d rows, page %d of %d, %d results", tc.query, len(p.Data), p.Page, p.Pages, p.Results)
		}
	}
	var empty page[Pool]
	other, _ := a.AddCluster(Config{})
	a.do("GET", fmt.Sprintf("/lke/clusters/%d/pools", other.ID), nil, &empty)
	if empty.Data == nil || empty.Pages != 1 || empty.Page != 1 {
		t.Errorf("an empty list is %+v", empty)
	}
}

// get makes a GET with additional headers.
func (a *account) get(path string, header map[string]string) (*http.Response, string) {
	a.Helper()
	req, err := http.NewRequestWithContext(a.Context(), http.MethodGet, "http://linode.test"+path, nil)
	if err != nil {
		a.Fatal(err)
	}
	for key, value := range header {
		req.Header.Set(key, value)
	}
	res, err := a.Client().Do(req)
	if err != nil {
		a.Fatal(err)
	}
	var body json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		a.Fatal(err)
	}
	return res, string(body)
}

func TestTokens(t *testing.T) {
	const (
		invalid = `{"errors":[{"reason":"Invalid Token"}]}`
		scope   = `{"errors":[{"reason":"Your OAuth token is not authorized to use this endpoint."}]}`
	)
	a := newAccount(t, Config{Token: "secret", Scopes: "lke:read_only linodes:read_write"})
	for _, tc := range []struct {
		path, token string
		status      int
		body        string // "" is any
		accepted    string
		scopes      string
	}{
		{"/v4/lke/clusters", "", 401, invalid, "lke:read_only", "unknown"},
		{"/v4/lke/clusters", "wrong", 401, invalid, "lke:read_only", "unknown"},
		{"/v4/lke/clusters", "secret", 200, "", "lke:read_only", "lke:read_only linodes:read_write"},
		{"/v4/networking/firewalls/7", "secret", 401, scope, "firewall:read_only", "lke:read_only linodes:read_write"},
		{"/v4/linode/instances", "secret", 200, "", "linodes:read_only", "lke:read_only linodes:read_write"},
		{"/v4/linode/types", "", 200, "", "*", "unknown"},
		{"/v4/linode/types", "wrong", 200, "", "*", "unknown"},
	} {
		header := map[string]string{}
		if tc.token != "" {
			header["Authorization"] = "Bearer " + tc.token
		}
		res, body := a.get(tc.path, header)
		if res.StatusCode != tc.status || (tc.body != "" && body != tc.body) {
			t.Errorf("%s with %q: %s %s", tc.path, tc.token, res.Status, body)
		}
		if got := res.Header.Get("X-Accepted-OAuth-Scopes"); got != tc.accepted {
			t.Errorf("%s with %q: accepts %s", tc.path, tc.token, got)
		}
		if got := res.Header.Get("X-OAuth-Scopes"); got != tc.scopes {
			t.Errorf("%s with %q: has %s", tc.path, tc.token, got)
		}
	}
	for _, call := range a.Calls() {
		if text, _ := json.Marshal(call); strings.Contains(string(text), "secret") {
			t.Errorf("the log holds the token: %s", text)
		}
	}
}

func TestUnknownPaths(t *testing.T) {
	a := newAccount(t, Config{})
	for _, tc := range []struct{ method, path, want string }{
		{"GET", "/nowhere", "404 Not found"},
		{"GET", "/lke/clusters/abc", "404 Not found"},
		{"POST", "/linode/types", "405 Method Not Allowed"},
		{"DELETE", "cluster/pools", "405 Method Not Allowed"},
	} {
		if got := a.refused(tc.method, tc.path, nil); got != tc.want {
			t.Errorf("%s %s: %s", tc.method, tc.path, got)
		}
	}
	for _, path := range []string{"/v5/lke/clusters", "/lke/clusters", "/"} {
		if res, body := a.get(path, nil); res.StatusCode != 404 {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
	}
	if got := a.refused("POST", "cluster/pools", json.RawMessage("[1]")); got != "400 Invalid JSON" {
		t.Errorf("not an object: %s", got)
	}
}

// What the simulator answers about plans, regions and availability is what the real API does, but for the fields that
// no test here needs.
func TestPriceListIsAsRecorded(t *testing.T) {
	data, err := os.ReadFile("../catalog/testdata/price-list.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string][]map[string]any
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	a := newAccount(t, Config{})
	for _, tc := range []struct {
		rows, path, by string
		without        []string
	}{
		{"types", "/v4/linode/types?page_size=500", "id", []string{"addons", "accelerated_devices"}},
		{"regions", "/v4/regions?page_size=500", "id", []string{"capabilities", "monitors", "resolvers"}},
		{"availability", "/v4/regions/availability?page_size=500", "region plan", nil},
	} {
		var p page[map[string]any]
		_, body := a.get(tc.path, nil)
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
		want, got := index(recorded[tc.rows], tc.by, tc.without), index(p.Data, tc.by, tc.without)
		maps.DeleteFunc(got, func(key string, _ any) bool { return want[key] == nil })
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%d %s (-recorded +simulated):\n%s", len(want), tc.rows, diff)
		}
	}
}

// index keys rows by some of their fields; lists in them are sorted by the region that they are of.
func index(rows []map[string]any, by string, without []string) map[string]any {
	out := map[string]any{}
	for _, row := range rows {
		for _, key := range without {
			delete(row, key)
		}
		if prices, ok := row["region_prices"].([]any); ok {
			byRegion := map[string]any{}
			for _, price := range prices {
				byRegion[fmt.Sprint(price.(map[string]any)["id"])] = price
			}
			row["region_prices"] = byRegion
		}
		var key []string
		for field := range strings.FieldsSeq(by) {
			key = append(key, fmt.Sprint(row[field]))
		}
		out[strings.Join(key, " ")] = row
	}
	return out
}

func TestPlaces(t *testing.T) {
	a := newAccount(t, Config{})
	var bare []catalog.Availability
	a.do("GET", "/regions/us-east/availability", nil, &bare)
	if len(bare) != 17 || bare[0].Region != "" || bare[0].Available {
		t.Errorf("us-east: %d rows, %+v", len(bare), bare[0])
	}
	a.do("GET", "/regions/no-osl-1/availability", nil, &bare)
	if bare == nil || len(bare) != 0 {
		t.Errorf("no-osl-1: %v", bare)
	}
	for _, path := range []string{"/regions/none/availability", "/lke/tiers/none/versions"} {
		if got := a.refused("GET", path, nil); got != "404 Not found" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestClusterValidation(t *testing.T) {
	a := newAccount(t, Config{})
	good := fields{"label": "good-one", "region": "us-ord", "k8s_version": "1.35", "tier": "standard"}
	for _, tc := range []struct {
		change fields
		want   string
	}{
		{fields{}, ""},
		{fields{"label": "a b"}, "label: Length"},
		{fields{"region": "none"}, "region: region is not valid"},
		{fields{"tier": "enterprise", "region": "us-east", "k8s_version": "v1.31.8+lke1"}, "region: region is not valid"},
		{fields{"tier": "gold"}, "tier: Must be"},
		{fields{"k8s_version": "1.2"}, "k8s_version: k8s_version is not valid"},
		{fields{"node_pools": []fields{{"type": "g6-standard-1", "count": 0}}}, "node_pools[0].count: Must be 1-100"},
	} {
		request := fields{}
		maps.Copy(request, good)
		maps.Copy(request, tc.change)
		if tc.want == "" {
			a.do("POST", "/lke/clusters", request, nil)
		} else if got := a.refused("POST", "/lke/clusters", request); !strings.Contains(got, tc.want) {
			t.Errorf("%v: %s", tc.change, got)
		}
	}
	if got := a.refused("PUT", "cluster", fields{"label": "x"}); !strings.Contains(got, "label: Length") {
		t.Errorf("PUT: %s", got)
	}
	if n := len(a.Clusters()); n != 2 {
		t.Errorf("%d clusters", n)
	}
}
