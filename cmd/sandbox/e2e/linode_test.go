package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// cloud is the simulated Linode API, as Cloud Manager and the tests use it.
type cloud struct{ *core }

// stats asks the simulator what it counted.
func (s cloud) stats() sim.Stats {
	s.t.Helper()
	resp, err := http.Get(s.env["LINODE_URL"] + "/simulator/stats")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var stats sim.Stats
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		s.t.Fatal(err)
	}
	return stats
}

// resetStats sets the simulator's counters to zero.
func (s cloud) resetStats() {
	s.t.Helper()
	resp, err := http.Post(s.env["LINODE_URL"]+"/simulator/reset", "", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
}

// inject adds faults to the linodeAPI LKE.
func (s cloud) inject(fault string) {
	s.t.Helper()
	resp, err := http.Post(s.env["LINODE_URL"]+"/simulator/faults", "application/json", strings.NewReader(fault))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("inject %s: %s", fault, resp.Status)
	}
}

// clearFaults removes the faults of inject.
func (s cloud) clearFaults() {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodDelete, s.env["LINODE_URL"]+"/simulator/faults", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
}

// calls returns the Linode calls so far.
func (s cloud) calls() (calls []sim.Call) {
	s.t.Helper()
	resp, err := http.Get(s.env["LINODE_URL"] + "/simulator/calls")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&calls); err != nil {
		s.t.Fatal(err)
	}
	return calls
}

// hung counts the Linode calls that got no answer because of a fault.
func (s cloud) hung() (n int) {
	s.t.Helper()
	for _, call := range s.calls() {
		if call.Fault == "hang" {
			n++
		}
	}
	return n
}

// poolsAskedFor returns the calls so far that asked for a new pool.
func (s cloud) poolsAskedFor() (asked []sim.Call) {
	s.t.Helper()
	for _, call := range s.calls() {
		if call.Method == http.MethodPost && strings.HasSuffix(call.Path, "/pools") {
			asked = append(asked, call)
		}
	}
	return asked
}

// hit reports whether the late call was sent.
func (s cloud) hit() bool {
	for _, call := range s.calls() {
		if call.Fault == "done later" {
			return true
		}
	}
	return false
}

func (s cloud) puts() (n int) {
	for _, call := range s.calls() {
		if call.Method == http.MethodPut {
			n++
		}
	}
	return n
}

// late has the next call of that kind done late, and forgets other faults and calls.
func (s cloud) late(method, path string) {
	s.t.Helper()
	s.clearFaults()
	s.inject(fmt.Sprintf(`{"method":%q,"path":%q,"count":1,"status":504,"late":%q}`, method, path, lateBy))
	s.resetStats()
}

// lose lets the host of a NodeClaim's machine die.
func (s cloud) lose(nc karpv1.NodeClaim) {
	s.t.Helper()
	resp, err := http.Post(s.env["LINODE_URL"]+"/simulator/instances/"+strings.TrimPrefix(nc.Status.ProviderID,
		"linode://")+"/lose", "", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("lose the instance of %s: %s", nc.Name, resp.Status)
	}
}

// linodeAPI is Cloud Manager: another client of the same account.
func (s cloud) linodeAPI() *api.Client {
	s.t.Helper()
	api, err := api.New(s.env["LINODE_URL"], s.env["LINODE_TOKEN"], api.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return api
}

func (s cloud) clusterID() int {
	s.t.Helper()
	id, err := strconv.Atoi(s.env["LKE_CLUSTER_ID"])
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// cloudManager makes a call that Cloud Manager makes.
func (s cloud) cloudManager(method, path, body string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.env["LINODE_URL"]+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.env["LINODE_TOKEN"])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %s", method, path, resp.Status)
	}
}

// recycleAll is the button of Cloud Manager.
func (s cloud) recycleAll() {
	s.t.Helper()
	s.cloudManager(http.MethodPost, "/v4/lke/clusters/"+s.env["LKE_CLUSTER_ID"]+"/recycle", "")
}

// upgrade upgrades the control plane, as Cloud Manager does.
func (s cloud) upgrade(version string) {
	s.t.Helper()
	s.cloudManager(http.MethodPut, "/v4beta/lke/clusters/"+s.env["LKE_CLUSTER_ID"],
		fmt.Sprintf(`{"k8s_version":%q}`, version))
}

// linodeCall makes a call to the simulator that must succeed.
func (s cloud) linodeCall(method, path string, request, answer any) {
	s.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.env["LINODE_URL"]+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.env["LINODE_TOKEN"])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var said bytes.Buffer
	if _, err := said.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %s: %s, %v", method, path, res.Status, &said, err)
	}
	if answer != nil {
		if err := json.Unmarshal(said.Bytes(), answer); err != nil {
			s.t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}

// linodes are those of the account, with how far they have come on their way into the
// cluster.
func (s cloud) linodes() map[string]sim.Linode {
	s.t.Helper()
	var list []sim.Linode
	s.linodeCall(http.MethodGet, "/simulator/linodes", nil, &list)
	all := map[string]sim.Linode{}
	for _, l := range list {
		all[l.Label] = l
	}
	return all
}

// linodeFor is the Linode of a claim as the simulator knows it.
func (s cloud) linodeFor(nc karpv1.NodeClaim) sim.Linode {
	s.t.Helper()
	for _, l := range s.linodes() {
		if fmt.Sprintf("linode://%d", l.ID) == nc.Status.ProviderID {
			return l
		}
	}
	s.t.Fatalf("there is no Linode of NodeClaim %s, which says %s", nc.Name, nc.Status.ProviderID)
	return sim.Linode{}
}

// linodeOf is the Linode of a claim, as the linodeAPI API shows it.
func (s cloud) linodeOf(nc karpv1.NodeClaim) (l struct {
	Tags  []string `json:"tags"`
	Image string   `json:"image"`
}) {
	s.t.Helper()
	s.linodeCall(http.MethodGet, "/v4/linode/instances/"+strings.TrimPrefix(nc.Status.ProviderID, "linode://"), nil, &l)
	return l
}

// makeLinode creates a Linode that reads user data, and returns its id.
func (s cloud) makeLinode(label string, userData []byte) int {
	s.t.Helper()
	var made struct{ ID int }
	s.linodeCall(http.MethodPost, "/v4/linode/instances", map[string]any{
		"label": label, "type": "g6-standard-2", "region": "us-ord", "image": "linode/debian12", "root_pass": "not-used-1A",
		"swap_size": 0, "metadata": map[string]string{"user_data": base64.StdEncoding.EncodeToString(userData)},
	}, &made)
	return made.ID
}

// furnish gives the account images and the like.
func (s cloud) furnish(has sim.AssetSet) {
	s.t.Helper()
	s.linodeCall(http.MethodPost, "/simulator/assets", has, nil)
}

// refusals are calls to the Linode API that a fault of the simulator answers.
func (s cloud) refusals() rounds {
	return rounds{what: "calls that Linode refuses", count: func() int {
		return len(slices.DeleteFunc(s.calls(), func(call sim.Call) bool { return call.Fault == "" }))
	}}
}
