package inspect

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestTokenCheck on a simulated account.
func TestTokenCheck(t *testing.T) {
	tests := []struct {
		scopes, token, name string
		id                  int
		want                []string
	}{
		{"*", "right", "lke-77", 0, []string{"ok: the token has the scope lke:read_write", "ok: lke-77 is 77"}},
		{"lke:read_only events:read_only linodes:read_only", "right", "", 0, []string{
			"fail: the token lacks the scope lke:read_write: it has lke:read_only events:read_only",
			"ok: the token lacks the optional scope account:read_only", "warn: the name of the LKE cluster is missing"}},
		{"lke:read_write", "right", "lke-77", 0, []string{"ok: the token has the scope lke:read_write",
			"ok: the token lacks the optional scope events:read_only: a node that LKE cannot create is replaced after minutes",
			"ok: the token lacks the optional scope linodes:read_only: a Linode that never boots is replaced after 15 minutes",
			"ok: the token lacks the optional scope account:read_only: nodes are not replaced before maintenance of their hosts",
			"ok: lke-77 is 77"}},
		{"*", "right", "other", 0, []string{"ok: the token", `fail: the account has no LKE cluster "other"; it has: lke-77 (77)`}},
		{"*", "wrong", "", 0, []string{"fail: "}},
		{"*", "right", "", 77, []string{"ok: the token", "ok: lke-77 is 77"}},
		{"*", "right", "lke-77", 77, []string{"ok: the token", "ok: lke-77 is 77"}},
		{"*", "right", "", 78, []string{"ok: the token", "fail: the account has no LKE cluster 78; it has: lke-77 (77)"}},
		{"*", "right", "prod", 77, []string{"ok: the token", `fail: 77 is called "lke-77", not "prod"`}},
	}
	for _, tt := range tests {
		sim, err := sim.New(sim.Config{ClusterID: 77, Token: "right", Scopes: tt.scopes, ClusterLabel: "lke-77"})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(sim)
		defer server.Close()
		client, err := api.New(server.URL, tt.token, api.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := Installation{Linode: client, Name: tt.name, ID: tt.id, Cluster: examined{}}.linode(t.Context())
		if len(found) != len(tt.want) {
			t.Errorf("%+v, want %v", found, tt.want)
			continue
		}
		for i, f := range found {
			if said := string(f.Level) + ": " + f.Text; !strings.HasPrefix(said, tt.want[i]) || f.Level == LevelFail && f.Do == "" {
				t.Errorf("%+v, want %q", f, tt.want[i])
			}
		}
	}
}

// TestTokenCheckInInstanceMode with the scope of Linodes, and without that of LKE.
func TestTokenCheckInInstanceMode(t *testing.T) {
	controller := ward{"Deployment": {`{metadata: {namespace: a, name: lkeplan-controller, labels: {app.kubernetes.io/part-of: lkeplan}},
		spec: {template: {spec: {containers: [{env: [{name: KARPENTER_MODE, value: instance}, {name: CLUSTER_NAME, value: prod}]}]}}}}`}}
	for scopes, want := range map[string]string{
		"linodes:read_write":               "ok: the token has the scope linodes:read_write",
		"*":                                "ok: the token has the scope linodes:read_write",
		"lke:read_write linodes:read_only": "fail: the token lacks the scope linodes:read_write",
	} {
		sim, err := sim.New(sim.Config{ClusterID: 77, Token: "right", Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(sim)
		defer server.Close()
		client, err := api.New(server.URL, "right", api.Options{})
		if err != nil {
			t.Fatal(err)
		}
		joining := Joining{Linodes: func(ctx context.Context, s Settings) ([]Finding, error) {
			all, err := client.Instances(ctx, "any")
			return []Finding{{LevelOK, "Linodes", fmt.Sprint(len(all), " of ", s.Name), ""}}, err
		}}
		found := Installation{Linode: client, Cluster: examined{ward: controller}, Joining: joining}.linode(t.Context())
		last := len(found) - 1
		if last < 1 || !strings.HasPrefix(found[0].Level+": "+found[0].Text, want) || found[last].Text != "0 of prod" {
			t.Errorf("%s: %+v", scopes, found)
		}
		const lacks = "the token lacks the optional scope account:read_only: nodes are not replaced before maintenance of their hosts"
		if said := last == 2 && found[1].Text == lacks; said == (scopes == "*") {
			t.Errorf("%s: the optional scope is named: %v: %+v", scopes, said, found)
		}
	}
}

// TestTokenIsBlamedOnlyForItsErrors: other failures do not mean that the token is wrong.
func TestTokenIsBlamedOnlyForItsErrors(t *testing.T) {
	for status, want := range map[int]string{
		401: newToken, 403: newToken, 503: "check LINODE_URL and the network", 429: "run doctor again", 404: "check LINODE_URL",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"errors": [{"reason": "no"}]}`))
		}))
		client, err := api.New(server.URL, "token", api.Options{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		found := Installation{Linode: client, Name: "prod", Cluster: examined{}}.linode(t.Context())
		server.Close()
		if len(found) != 1 || found[0].Level != LevelFail || !strings.HasPrefix(found[0].Do, want) {
			t.Errorf("%d: %+v, want to do %q", status, found, want)
		}
	}
}

// TestTheClusterOfTheController is checked if no other is given.
func TestTheClusterOfTheController(t *testing.T) {
	installed := ward{"Deployment": {`{metadata: {namespace: a, name: lkeplan-controller, labels: {app.kubernetes.io/part-of: lkeplan}},
		spec: {template: {spec: {containers: [{env: [{name: LINODE_TOKEN, valueFrom: {}}, {name: CLUSTER_NAME, value: prod},
		{name: LKE_CLUSTER_ID, value: "77"}]}]}}}}`}}
	for of, tt := range map[string]struct {
		in   Installation
		name string
		id   int
	}{
		"nothing is given":   {Installation{Cluster: examined{ward: installed}}, "prod", 77},
		"a name is given":    {Installation{Cluster: examined{ward: installed}, Name: "dev"}, "dev", 0},
		"a number is given":  {Installation{Cluster: examined{ward: installed}, ID: 5}, "", 5},
		"nothing is there":   {Installation{Cluster: examined{ward: ward{}}}, "", 0},
		"no container is in": {Installation{Cluster: examined{ward: ward{"Deployment": {`{metadata: {name: lkeplan-controller, labels: {app.kubernetes.io/part-of: lkeplan}}}`}}}}, "", 0},
	} {
		if name, id := tt.in.settings(t.Context()).cluster(tt.in); name != tt.name || id != tt.id {
			t.Errorf("%s: %q and %d, want %q and %d", of, name, id, tt.name, tt.id)
		}
	}
}
