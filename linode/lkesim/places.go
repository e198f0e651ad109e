package lkesim

import (
	"fmt"
	"slices"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func (st *state) listTypes(q *request) (any, error) {
	var rows []typeView
	for _, p := range st.cfg.Catalog.Plans() {
		rows = append(rows, viewType(p))
	}
	// region is not among the fields: the real API refuses it, too.
	return list(q, rows, map[string]func(typeView) any{
		"label":       func(t typeView) any { return t.Label },
		"class":       func(t typeView) any { return t.Class },
		"memory":      func(t typeView) any { return t.Memory },
		"disk":        func(t typeView) any { return t.Disk },
		"transfer":    func(t typeView) any { return t.Transfer },
		"vcpus":       func(t typeView) any { return t.VCPUs },
		"gpus":        func(t typeView) any { return t.GPUs },
		"network_out": func(t typeView) any { return t.NetworkOut },
	})
}

func (st *state) getType(q *request) (any, error) {
	p, ok := st.cfg.Catalog.Plan(q.http.PathValue("type"))
	if !ok {
		return nil, notFound()
	}
	return viewType(p), nil
}

func (st *state) listRegions(q *request) (any, error) {
	var rows []regionView
	for _, r := range st.cfg.Catalog.Regions() {
		rows = append(rows, viewRegion(r))
	}
	return list(q, rows, nil)
}

func (st *state) getRegion(q *request) (any, error) {
	r, ok := st.cfg.Catalog.Region(q.http.PathValue("region"))
	if !ok {
		return nil, notFound()
	}
	return viewRegion(r), nil
}

type availabilityView struct {
	Region    string `json:"region"`
	Plan      string `json:"plan"`
	Available bool   `json:"available"`
}

func (st *state) availability(region string) []availabilityView {
	rows := []availabilityView{}
	for _, row := range st.cfg.Catalog.Availability() {
		if region == "" || row.Region == region {
			rows = append(rows, availabilityView(row))
		}
	}
	return rows
}

func (st *state) listAvailability(q *request) (any, error) {
	return list(q, st.availability(""), map[string]func(availabilityView) any{
		"region":    func(a availabilityView) any { return a.Region },
		"plan":      func(a availabilityView) any { return a.Plan },
		"available": func(a availabilityView) any { return a.Available },
	})
}

// regionAvailability is the one list of the API that comes bare, without pages.
func (st *state) regionAvailability(q *request) (any, error) {
	r, ok := st.cfg.Catalog.Region(q.http.PathValue("region"))
	if !ok {
		return nil, notFound()
	}
	return st.availability(r.ID), nil
}

type accountAvailabilityView struct {
	Region      string   `json:"region"`
	Available   []string `json:"available"`
	Unavailable []string `json:"unavailable"`
}

func accountAvailability(r catalog.Region) accountAvailabilityView {
	v := accountAvailabilityView{Region: r.ID, Available: []string{}, Unavailable: []string{}}
	for _, service := range []string{catalog.CapLinodes, "NodeBalancers", "Block Storage", catalog.CapKubernetes} {
		if r.Has(service) {
			v.Available = append(v.Available, service)
		} else {
			v.Unavailable = append(v.Unavailable, service)
		}
	}
	return v
}

func (st *state) listAccountAvailability(q *request) (any, error) {
	var rows []accountAvailabilityView
	for _, r := range st.cfg.Catalog.Regions() {
		rows = append(rows, accountAvailability(r))
	}
	return list(q, rows, nil)
}

func (st *state) getAccountAvailability(q *request) (any, error) {
	r, ok := st.cfg.Catalog.Region(q.http.PathValue("region"))
	if !ok {
		return nil, notFound()
	}
	return accountAvailability(r), nil
}

// getAccount has the few fields that a program could want; the real one has addresses and balances, too.
func (st *state) getAccount(*request) (any, error) {
	capabilities := []string{"Linodes", "NodeBalancers", "Block Storage", "Kubernetes", "Cloud Firewall", "Vlans", "VPCs"}
	if slices.ContainsFunc(st.clustersByID(), func(c *cluster) bool { return c.tier == catalog.Enterprise }) {
		capabilities = append(capabilities, "Kubernetes Enterprise")
	}
	return map[string]any{
		"company": "", "email": "sandbox@example.com", "first_name": "", "last_name": "", "country": "US", "balance": 0.0,
		"active_since": "2018-01-02T03:04:05", "euuid": "00000000-0000-0000-0000-000000000000", "capabilities": capabilities,
	}, nil
}

// getProfile needs no scope; a client reads its token's scopes from the header of this or any other answer.
func (st *state) getProfile(*request) (any, error) {
	return map[string]any{
		"uid": 1, "username": "sandbox", "email": "sandbox@example.com", "timezone": "UTC", "restricted": false,
		"email_notifications": false, "two_factor_auth": false, "lish_auth_method": "keys_only", "authorized_keys": nil,
		"authentication_type": "password", "verified_phone_number": nil,
	}, nil
}

// getFirewall says that the account has a firewall of each number; of its rules nothing is simulated.
func (st *state) getFirewall(q *request) (any, error) {
	id := q.id("firewall")
	if id <= 0 {
		return nil, notFound()
	}
	return map[string]any{"id": id, "label": fmt.Sprintf("firewall-%d", id), "status": "enabled", "tags": []string{}}, nil
}
