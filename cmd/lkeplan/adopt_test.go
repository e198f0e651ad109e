package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/linode/api"
)

// testAccount serves one cluster with LKE pools with these IDs, and one that Karpenter manages.
func testAccount(t *testing.T, scopes string, ids ...int) *api.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-OAuth-Scopes", scopes)
		rows := []string{`{"id": 77, "label": "prod"}`}
		if strings.HasSuffix(r.URL.Path, "/pools") {
			rows = []string{`{"id": 1, "tags": ["lkeplan-group=a-1"], "count": 1}`}
			for _, id := range ids {
				rows = append(rows, fmt.Sprintf(`{"id": %d, "type": "g6-standard-4", "count": 2}`, id))
			}
		}
		fmt.Fprintf(w, `{"data": [%s], "page": 1, "pages": 1, "results": %d}`, strings.Join(rows, ","), len(rows))
	}))
	t.Cleanup(server.Close)
	api, err := api.New(server.URL, "a", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// TestAdoptSelectsLKEPools: each is drained once, in the order of the arguments.
func TestAdoptSelectsLKEPools(t *testing.T) {
	tests := map[string]struct {
		there []int
		all   bool
		named []string
		want  []int
		err   string
	}{
		"in their order":             {there: []int{9, 10, 11}, named: []string{"10", "9"}, want: []int{10, 9}},
		"twice":                      {there: []int{9, 10, 11}, named: []string{"9", "10", "9"}, want: []int{9, 10}},
		"all":                        {there: []int{9, 10}, all: true, want: []int{9, 10}},
		"all, and some":              {there: []int{9, 10}, all: true, named: []string{"9"}, err: "name LKE pools or use --all, not both"},
		"none":                       {there: []int{9}, err: "name LKE pools, or use --all: 9, 2 of g6-standard-4"},
		"one that Karpenter manages": {there: []int{9}, named: []string{"1"}, err: "has no LKE pool 1, or Karpenter manages it"},
		"all, when none is left":     {all: true},
		"all are managed":            {named: []string{"9"}, err: "cluster prod has only LKE pools that Karpenter manages"},
		"not the ID of an LKE pool":  {there: []int{9}, named: []string{"09"}, err: "has no LKE pool 09"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := adoption{env: &flags.Env{Getenv: func(string) string { return "" }, Stdout: io.Discard}, all: test.all}
			_, pools, err := a.pools(t.Context(), testAccount(t, "*", test.there...), test.named)
			var got []int
			for _, p := range pools {
				got = append(got, p.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v, want %q", err, test.err)
			}
		})
	}
}

// TestReadOnlyTokenIsRejected before pods move.
func TestReadOnlyTokenIsRejected(t *testing.T) {
	for scopes, want := range map[string]string{
		"lke:read_write": "", "*": "",
		"lke:read_only linodes:read_write": "the token in LINODE_TOKEN has the scopes lke:read_only linodes:read_write, but " +
			"deleting LKE pools requires lke:read_write",
	} {
		api := testAccount(t, scopes)
		if _, err := api.Clusters(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := requireScope(api); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("with %s: %v", scopes, err)
		}
	}
}

func TestStoppedMoveShowsHowToContinueAndGoBack(t *testing.T) {
	left := []api.Pool{{ID: 9, Autoscaler: api.Autoscaler{Min: 1, Max: 5}}, {ID: 8},
		{ID: 10, Autoscaler: api.Autoscaler{Enabled: true, Min: 2, Max: 2}}}
	got := wayBack(77, left, "the same command with 9 10", fmt.Errorf("list pools: %w", context.Canceled)).Error()
	want := `LKE pool 9: interrupted
The remaining pods run where they did. To continue: the same command with 9 10. To go back:
  kubectl uncordon -l lke.linode.com/pool-id=9
  linode-cli lke pool-update 77 9 --autoscaler.enabled true --autoscaler.min 1 --autoscaler.max 5 # if it was on
  linode-cli lke pool-update 77 10 --autoscaler.enabled true --autoscaler.min 2 --autoscaler.max 2`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
