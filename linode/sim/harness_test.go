package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"testing"
)

// account is a simulator with helpers that fail the test.
type account struct {
	*testing.T
	*Simulator
}

func newAccount(t *testing.T, cfg Config) *account {
	t.Helper()
	sim, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &account{t, sim}
}

// try makes a call and decodes its answer. The path may begin with "cluster", which is the first cluster's.
func (a *account) try(method, path string, request, into any) (*http.Response, error) {
	a.Helper()
	var body bytes.Buffer
	if request != nil {
		if err := json.NewEncoder(&body).Encode(request); err != nil {
			a.Fatal(err)
		}
	}
	if rest, ok := bytes.CutPrefix([]byte(path), []byte("cluster")); ok {
		path = fmt.Sprintf("/lke/clusters/%d%s", a.ClusterID(), rest)
	}
	req, err := http.NewRequestWithContext(a.Context(), method, "http://linode.test/v4beta"+path, &body)
	if err != nil {
		a.Fatal(err)
	}
	res, err := a.Client().Do(req)
	if err != nil {
		return nil, err
	}
	if into != nil {
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			a.Fatalf("%s %s: %v", method, path, err)
		}
	}
	return res, nil
}

// do makes a call that must succeed.
func (a *account) do(method, path string, request, into any) {
	a.Helper()
	var raw json.RawMessage
	res, err := a.try(method, path, request, &raw)
	if err != nil {
		a.Fatalf("%s %s: %v", method, path, err)
	}
	if res.StatusCode != http.StatusOK {
		a.Fatalf("%s %s: %s: %s", method, path, res.Status, raw)
	}
	if into != nil {
		if err := json.Unmarshal(raw, into); err != nil {
			a.Fatal(err)
		}
	}
}

// refused makes a call that must fail and returns status and errors as one line.
func (a *account) refused(method, path string, request any) string {
	a.Helper()
	var failure struct{ Errors []fieldError }
	res, err := a.try(method, path, request, &failure)
	if err != nil {
		return err.Error()
	}
	return (&apiError{status: res.StatusCode, errs: failure.Errors}).Error()
}

type fields map[string]any

// makePool creates a pool of g6-standard-4, with what else is given.
func (a *account) makePool(count int, more fields) Pool {
	a.Helper()
	request := fields{"type": "g6-standard-4", "count": count}
	if a.Config().Tier == "enterprise" {
		request["k8s_version"], request["update_strategy"] = a.Config().KubernetesVersion, "on_recycle"
	}
	maps.Copy(request, more)
	var p Pool
	a.do("POST", "cluster/pools", request, &p)
	return p
}

func (a *account) pool(id int) Pool {
	a.Helper()
	var p Pool
	a.do("GET", fmt.Sprintf("cluster/pools/%d", id), nil, &p)
	return p
}

// nulls counts the slots that have no instance.
func nulls(p Pool) int {
	n := 0
	for _, node := range p.Nodes {
		if node.InstanceID == nil {
			n++
		}
	}
	return n
}
