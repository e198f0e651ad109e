package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Experiments with pools and the Linodes in them.

// path returns a path of the cluster.
func (r *run) path(below string) string {
	return strings.TrimSuffix(fmt.Sprintf("lke/clusters/%d/%s", r.cluster.ID, below), "/")
}

// poolOf returns the request for a pool.
func (r *run) poolOf(plan string, count int) fields {
	body := fields{"type": plan, "count": count, "tags": []string{Tag}}
	if r.Tier == catalog.Enterprise {
		body["k8s_version"], body["update_strategy"] = r.cluster.K8sVersion, "on_recycle"
	}
	return body
}

func (r *run) makePool(ctx context.Context, body fields) (pool api.Pool, err error) {
	err = r.api.Call(ctx, http.MethodPost, r.path("pools"), "", body, &pool)
	return pool, err
}

func (r *run) put(ctx context.Context, pool int, body fields) error {
	return r.api.Call(ctx, http.MethodPut, r.path(fmt.Sprintf("pools/%d", pool)), "", body, nil)
}

// pool returns a pool as the list of pools shows it.
func (r *run) pool(ctx context.Context, id int) (pool api.Pool, there bool, err error) {
	pools, err := r.api.Pools(ctx, r.cluster.ID)
	for _, p := range pools {
		if p.ID == id {
			return p, true, err
		}
	}
	return pool, false, err
}

// instances returns the Linodes of a pool by slot; slots without one have 0.
func instances(pool api.Pool) map[string]int {
	all := map[string]int{}
	for _, slot := range pool.Linodes {
		all[slot.ID] = slot.InstanceID
	}
	return all
}

func filled(pool api.Pool, count int) bool {
	return len(pool.Linodes) == count &&
		!slices.ContainsFunc(pool.Linodes, func(slot api.Slot) bool { return slot.InstanceID == 0 })
}

// baseSeen is what was observed of the first pool while its nodes were created.
type baseSeen struct {
	id       int
	listed   map[string]time.Duration // from the request to the list that had the slot
	vanished []string                 // slots that were listed once, and later not
	offline  time.Duration            // the longest that a Linode was offline before it ran
	running  int                      // number of running Linodes
	statuses []string                 // those of the first Linode
	pool     api.Pool                 // at the end
}

// watchBase creates the pool and watches it until its nodes exist, for at least a minute.
func (r *run) watchBase(ctx context.Context) (*baseSeen, error) {
	return r.base.get(func() (*baseSeen, error) {
		started := time.Now()
		made, err := r.makePool(ctx, r.poolOf(small, 2))
		if err != nil {
			return nil, err
		}
		seen := &baseSeen{id: made.ID, listed: map[string]time.Duration{}}
		offline, running := map[int]time.Time{}, map[int]bool{}
		_, err = until(ctx, base.limit(r.Tier)-2*time.Minute, 2*time.Second, func() (bool, error) {
			if seen.pool, _, err = r.pool(ctx, made.ID); err != nil {
				return false, err
			}
			now := instances(seen.pool)
			for slot := range now {
				if _, known := seen.listed[slot]; !known {
					seen.listed[slot] = time.Since(started)
				}
			}
			for slot := range seen.listed {
				if _, still := now[slot]; !still && !slices.Contains(seen.vanished, slot) {
					seen.vanished = append(seen.vanished, slot)
				}
			}
			first := seen.first()
			for _, id := range now {
				if id == 0 || running[id] {
					continue
				}
				linode, err := r.linode(ctx, id)
				if err != nil {
					return false, err
				}
				status := string(linode.Status)
				if n := len(seen.statuses); id == first && (n == 0 || seen.statuses[n-1] != status) {
					seen.statuses = append(seen.statuses, status)
				}
				switch status {
				case "offline":
					if offline[id].IsZero() {
						offline[id] = time.Now()
					}
				case "running":
					running[id] = true
					seen.running++
				}
				if at := offline[id]; !at.IsZero() && status != "offline" {
					seen.offline = max(seen.offline, time.Since(at))
				}
				if status != "offline" {
					delete(offline, id)
				}
			}
			return time.Since(started) > time.Minute+seen.latest() && filled(seen.pool, 2) && seen.running == 2 &&
				(r.kube == nil || r.complete(seen.pool)), nil
		})
		return seen, err
	})
}

func (b *baseSeen) latest() time.Duration {
	return slices.Max(append([]time.Duration{0}, slices.Collect(maps.Values(b.listed))...))
}

// first returns the first Linode.
func (b *baseSeen) first() int {
	for _, slot := range b.pool.Linodes {
		if slot.InstanceID != 0 {
			return slot.InstanceID
		}
	}
	return 0
}

// basePool returns the first pool, for experiments that do not need its nodes.
func (r *run) basePool(ctx context.Context) (api.Pool, error) {
	seen, err := r.watchBase(ctx)
	if err != nil {
		return api.Pool{}, err
	}
	pool, there, err := r.pool(ctx, seen.id)
	if err == nil && !there {
		err = errors.New("the pool is gone")
	}
	return pool, err
}

// fullPool returns the first pool when all its slots have Linodes.
func (r *run) fullPool(ctx context.Context) (pool api.Pool, err error) {
	if pool, err = r.basePool(ctx); err != nil {
		return pool, err
	}
	full, err := until(ctx, 3*time.Minute, 5*time.Second, func() (bool, error) {
		pool, err = r.basePool(ctx)
		return len(pool.Linodes) > 1 && filled(pool, len(pool.Linodes)), err
	})
	if err == nil && !full {
		err = errors.New("the nodes of the pool are not listed")
	}
	return pool, err
}

func (r *run) linode(ctx context.Context, id int) (linode api.Instance, err error) {
	err = r.api.Call(ctx, http.MethodGet, fmt.Sprintf("linode/instances/%d", id), "", nil, &linode)
	return linode, err
}

// listed is an experiment of the probe. It tests the assumption: LKE Enterprise lists a node within 20 minutes.
func listed(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchBase(ctx)
	if err != nil {
		return false, "", err
	}
	if len(seen.listed) < 2 {
		return false, fmt.Sprintf("%d of 2 nodes are listed after %s", len(seen.listed), base.limit(r.Tier)-2*time.Minute), nil
	}
	return seen.latest() <= 20*time.Minute, fmt.Sprintf("listed after %s", seen.latest().Round(time.Second)), nil
}

// stays is an experiment of the probe. It tests the assumption: a slot that was listed once stays listed until it
// is removed.
func stays(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchBase(ctx)
	switch {
	case err != nil:
		return false, "", err
	case len(seen.listed) == 0:
		return false, "", errors.New("no node is listed")
	case len(seen.vanished) > 0:
		return false, fmt.Sprintf("%d of %d slots were not listed for a while", len(seen.vanished), len(seen.listed)), nil
	}
	return true, fmt.Sprintf("%d slots were listed in each answer", len(seen.listed)), nil
}

// boots is an experiment of the probe. It tests the assumption: a Linode of LKE whose status is `offline` for five
// minutes after LKE listed it does not boot later, and `GET /linode/instances` accepts a filter of several IDs and
// lists Linodes of LKE to the token.
func boots(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchBase(ctx)
	switch {
	case err != nil:
		return false, "", err
	case seen.running == 0:
		return false, "", fmt.Errorf("no Linode has booted: %s", strings.Join(seen.statuses, ", "))
	}
	text := fmt.Sprintf("%s; offline for at most %s", strings.Join(seen.statuses, ", "), seen.offline.Round(time.Second))
	return seen.offline < 5*time.Minute, text, nil
}

// filter is an experiment of the probe. It tests the assumption: a Linode of LKE whose status is `offline` for five
// minutes after LKE listed it does not boot later, and `GET /linode/instances` accepts a filter of several IDs and
// lists Linodes of LKE to the token.
func filter(ctx context.Context, r *run) (bool, string, error) {
	pool, err := r.fullPool(ctx)
	if err != nil {
		return false, "", err
	}
	ids := slices.Sorted(maps.Values(instances(pool)))
	found, err := r.api.Offline(ctx, ids)
	return len(found) == len(ids), fmt.Sprintf("%d of %d Linodes found", len(found), len(ids)), err
}

// count is an experiment of the probe. It tests the assumption: the count of a pool shows a change as soon as the
// call that changed it is answered.
func count(ctx context.Context, r *run) (bool, string, error) {
	pool, err := r.basePool(ctx)
	if err != nil {
		return false, "", err
	}
	want := pool.Count + 1
	if err := r.put(ctx, pool.ID, fields{"count": want}); err != nil {
		return false, "", err
	}
	pool, _, err = r.pool(ctx, pool.ID)
	return pool.Count == want, fmt.Sprintf("the next list says %d after a PUT of %d", pool.Count, want), err
}

// nullSlot is an experiment of the probe. It tests the assumption: a slot without an instance can be deleted.
func nullSlot(ctx context.Context, r *run) (bool, string, error) {
	pool, err := r.fullPool(ctx)
	if err != nil {
		return false, "", err
	}
	before := instances(pool)
	if err := r.put(ctx, pool.ID, fields{"count": len(before) + 1}); err != nil {
		return false, "", err
	}
	var added api.Slot
	if _, err = until(ctx, 3*time.Minute, time.Second, func() (bool, error) {
		pool, _, err = r.pool(ctx, pool.ID)
		for _, slot := range pool.Linodes {
			if _, old := before[slot.ID]; !old {
				added = slot
			}
		}
		return added.ID != "", err
	}); err != nil {
		return false, "", err
	}
	if added.ID == "" || added.InstanceID != 0 {
		return false, "", errors.New("the new slot had a Linode when it was listed first")
	}
	if err := r.api.DeleteSlot(ctx, r.cluster.ID, added.ID); err != nil {
		reasons, err := reasonsOf(err)
		return false, "refused: " + quote(reasons), err
	}
	gone, err := until(ctx, time.Minute, 2*time.Second, func() (bool, error) {
		pool, _, err = r.pool(ctx, pool.ID)
		_, still := instances(pool)[added.ID]
		return !still && pool.Count <= len(before), err
	})
	return gone, fmt.Sprintf("the pool has %d nodes afterwards, %d before", pool.Count, len(before)), err
}

// recycle is an experiment of the probe. It tests the assumption: a recycled node keeps its slot, which shows null
// meanwhile, or gets another slot.
func recycle(ctx context.Context, r *run) (bool, string, error) {
	pool, err := r.fullPool(ctx)
	if err != nil {
		return false, "", err
	}
	slot, nodes := pool.Linodes[0], len(pool.Linodes)
	if err := r.api.Call(ctx, http.MethodPost, r.path("nodes/"+slot.ID+"/recycle"), "", nil, nil); err != nil {
		return false, "", err
	}
	started, null := time.Now(), 0
	done, err := until(ctx, 10*time.Minute, 2*time.Second, func() (bool, error) {
		pool, _, err = r.pool(ctx, pool.ID)
		now := instances(pool)
		if id, still := now[slot.ID]; still && id == 0 {
			null++
		}
		return filled(pool, nodes) && !slices.Contains(slices.Collect(maps.Values(now)), slot.InstanceID), err
	})
	if err != nil {
		return false, "", err
	}
	if !done {
		return false, "the same Linode after ten minutes", nil
	}
	_, kept := instances(pool)[slot.ID]
	return true, fmt.Sprintf("another Linode after %s; the slot stays: %v; it shows null: %v",
		time.Since(started).Round(time.Second), kept, null > 0), nil
}

// unaffected makes a change and reports whether the pool has the same Linodes in the same slots a minute later.
func (r *run) unaffected(ctx context.Context, change fields) (bool, string, error) {
	pool, err := r.fullPool(ctx)
	if err != nil {
		return false, "", err
	}
	before := instances(pool)
	if err := r.put(ctx, pool.ID, change); err != nil {
		return false, "", err
	}
	changed, err := until(ctx, time.Minute, 5*time.Second, func() (bool, error) {
		pool, _, err = r.pool(ctx, pool.ID)
		return !maps.Equal(before, instances(pool)) || pool.Count != len(before), err
	})
	return !changed, fmt.Sprintf("%d nodes before, %d nodes after a minute, others: %v", len(before), pool.Count, changed), err
}

// put is an experiment of the probe. It tests the assumption: tags, labels, taints and the autoscaler of a pool
// change by PUT without affecting its nodes or its count.
func put(ctx context.Context, r *run) (bool, string, error) {
	return r.unaffected(ctx, fields{
		"tags": []string{Tag, Tag + "-2"}, "labels": fields{probeKey: "put"},
		"taints":     []fields{{"key": probeKey, "value": "put", "effect": "PreferNoSchedule"}},
		"autoscaler": fields{"enabled": false, "min": 1, "max": 3},
	})
}

// changeVersion changes to another build that the control plane allows, if there is one, and to a firewall, if
// there is one.
func changeVersion(ctx context.Context, r *run) (bool, string, error) {
	other := r.cluster.K8sVersion
	for _, v := range r.versions {
		if v != other && catalog.ReachesVersion(r.cluster.K8sVersion, v) {
			other = v
			break
		}
	}
	change := fields{"k8s_version": other, "update_strategy": "on_recycle"}
	id, err := r.firewallID(ctx)
	if err == nil {
		change["firewall_id"] = id
	}
	holds, seen, err := r.unaffected(ctx, change)
	return holds, r.cluster.K8sVersion + " to " + other + ": " + seen, err
}

// upgrade upgrades the control plane of a cluster that the probe has created, and watches a pool afterwards.
func upgrade(ctx context.Context, r *run) (bool, string, error) {
	newest := r.cluster.K8sVersion
	for _, v := range r.versions {
		if catalog.NewerVersion(v, newest) {
			newest = v
		}
	}
	if r.Cluster != 0 || newest == r.cluster.K8sVersion {
		return false, "", errors.New("needs a cluster that the probe has made, and a newer version")
	}
	pool, err := r.fullPool(ctx)
	if err != nil {
		return false, "", err
	}
	before := instances(pool)
	if err := r.api.Call(ctx, http.MethodPut, r.path(""), "", fields{"k8s_version": newest}, nil); err != nil {
		return false, "", err
	}
	upgraded, err := until(ctx, 10*time.Minute, 5*time.Second, func() (bool, error) {
		now, err := r.api.Cluster(ctx, r.cluster.ID)
		return now.K8sVersion == newest, err
	})
	if err != nil || !upgraded {
		return false, "", errors.Join(err, errors.New("the control plane was not upgraded within ten minutes"))
	}
	was := *pool.K8sVersion
	changed, err := until(ctx, time.Minute, 5*time.Second, func() (bool, error) {
		pool, _, err = r.pool(ctx, pool.ID)
		return pool.K8sVersion == nil || *pool.K8sVersion != was || !maps.Equal(before, instances(pool)), err
	})
	return !changed, fmt.Sprintf("the control plane has %s, and the pool had %s before; it changed: %v", newest, was, changed), err
}

// disk is an experiment of the probe. It tests the assumption: a node of LKE has one disk, which counts among the 8
// to 64 that can be attached to it.
func disk(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchBase(ctx)
	if err != nil {
		return false, "", err
	}
	kinds, err := r.disks(ctx, seen.first())
	return len(kinds) == 1, "disks: " + strings.Join(kinds, ", "), err
}

// disks returns the file systems of the disks of a Linode, once it has disks.
func (r *run) disks(ctx context.Context, linode int) (kinds []string, err error) {
	var disks struct{ Data []struct{ Filesystem string } }
	if _, err := until(ctx, 30*time.Second, 2*time.Second, func() (bool, error) {
		err := r.api.Call(ctx, http.MethodGet, fmt.Sprintf("linode/instances/%d/disks", linode), "", nil, &disks)
		return len(disks.Data) > 0, err
	}); err != nil {
		return nil, err
	}
	if len(disks.Data) == 0 {
		return nil, errors.New("the Linode has no disk")
	}
	for _, disk := range disks.Data {
		kinds = append(kinds, disk.Filesystem)
	}
	return kinds, nil
}

func (r *run) firewallID(ctx context.Context) (int, error) {
	var rows struct{ Data []struct{ ID int } }
	err := r.api.Call(ctx, http.MethodGet, "networking/firewalls", "", nil, &rows)
	if err == nil && len(rows.Data) == 0 {
		err = errors.New("the account has no firewall")
	}
	if err != nil {
		return 0, err
	}
	return rows.Data[0].ID, nil
}

// firewall is an experiment of the probe. It tests the assumption: LKE on the standard tier may refuse or ignore a
// firewall of a pool.
func firewall(ctx context.Context, r *run) (bool, string, error) {
	pool, err := r.basePool(ctx)
	if err != nil {
		return false, "", err
	}
	id, err := r.firewallID(ctx)
	if err != nil {
		return false, "", err
	}
	var answer struct {
		ID *int `json:"firewall_id"`
	}
	path := r.path(fmt.Sprintf("pools/%d", pool.ID))
	if err := r.api.Call(ctx, http.MethodPut, path, "", fields{"firewall_id": id}, &answer); err != nil {
		reasons, err := reasonsOf(err)
		return err == nil, "refused: " + quote(reasons), err
	}
	if answer.ID != nil && *answer.ID == id {
		return false, "the pool has the firewall", nil
	}
	return true, "ignored", nil
}

// last is an experiment of the probe. It tests the assumption: deleting the last slot of a pool leaves no machine,
// as deleting the pool does.
func last(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchSecond(ctx)
	if err != nil {
		return false, "", err
	}
	slot := seen.pool.Linodes[0].ID
	if err := r.api.DeleteSlot(ctx, r.cluster.ID, slot); err != nil {
		reasons, err := reasonsOf(err)
		return false, "refused: " + quote(reasons), err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if err := pause(ctx, 5*time.Second); err != nil {
			return false, "", err
		}
		pool, there, err := r.pool(ctx, seen.pool.ID)
		switch {
		case err != nil:
			return false, "", err
		case !there:
			return true, "the pool is gone", nil
		case len(pool.Linodes) > 0:
			return false, "the pool has a node again", nil
		}
	}
	return true, "the pool stays without a node", nil
}

// secondSeen is a pool with a label and a plan of 8 GB.
type secondSeen struct{ pool api.Pool }

func (r *run) watchSecond(ctx context.Context) (*secondSeen, error) {
	return r.second.get(func() (*secondSeen, error) {
		body := r.poolOf(large, 1)
		body["label"] = "probe"
		pool, err := r.makePool(ctx, body)
		if err != nil {
			return nil, err
		}
		there, err := until(ctx, second.limit(r.Tier)-time.Minute, 5*time.Second, func() (bool, error) {
			pool, _, err = r.pool(ctx, pool.ID)
			return filled(pool, 1) && (r.kube == nil || r.complete(pool)), err
		})
		if err == nil && !there {
			err = errors.New("the node has not joined")
		}
		return &secondSeen{pool}, err
	})
}

// scarceSeen is what LKE did with a pool of a plan that is out of stock.
type scarceSeen struct {
	plan    string
	refused error
	slots   int // number of slots without a Linode
	made    int // number of slots with one
	events  []api.Failure
	at      time.Time // of the request, by the clock of the API
}

func (r *run) watchScarce(ctx context.Context) (*scarceSeen, error) {
	return r.scarce.get(func() (*scarceSeen, error) {
		if r.SoldOut == "" {
			return nil, fmt.Errorf("no plan is out of stock in %s; name one with --sold-out", r.Region)
		}
		seen := &scarceSeen{plan: r.SoldOut}
		pool, err := r.makePool(api.Dated(ctx, &seen.at), r.poolOf(seen.plan, 1))
		if err != nil {
			seen.refused = err
			return seen, nil
		}
		var listed time.Time
		_, err = until(ctx, scarce.limit(r.Tier)-time.Minute, 5*time.Second, func() (bool, error) {
			if pool, _, err = r.pool(ctx, pool.ID); err != nil {
				return false, err
			}
			if len(pool.Linodes) > 0 && listed.IsZero() {
				listed = time.Now()
			}
			all, err := r.api.Failures(ctx, seen.at.Add(-time.Minute))
			seen.events = slices.DeleteFunc(all, func(f api.Failure) bool { return f.Pool != pool.ID })
			return filled(pool, 1) || !listed.IsZero() && time.Since(listed) > 3*time.Minute, err
		})
		for _, slot := range pool.Linodes {
			if slot.InstanceID == 0 {
				seen.slots++
			} else {
				seen.made++
			}
		}
		return seen, errors.Join(err, r.api.DeletePool(ctx, r.cluster.ID, pool.ID))
	})
}

// capacity is an experiment of the probe. It tests the assumption: LKE reports a lack of capacity as a 400 without
// a field or with the field `type` and a text about capacity, slots or an unavailable plan, or as a slot that stays
// null.
func capacity(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchScarce(ctx)
	switch {
	case err != nil:
		return false, "", err
	case seen.refused != nil:
		reasons, err := reasonsOf(seen.refused)
		return api.ClassOf(seen.refused) == api.ClassNoCapacity, seen.plan + " " + quote(reasons), err
	case seen.made > 0:
		return false, "", fmt.Errorf("%s is in stock", seen.plan)
	case seen.slots == 0:
		return false, "", fmt.Errorf("%s: no slot is listed", seen.plan)
	}
	return true, seen.plan + ": the slot stays null", nil
}

// events is an experiment of the probe. It tests the assumption: an event `lke_node_create` of a pool means that no
// node was created for one of its slots.
func events(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchScarce(ctx)
	switch {
	case err != nil:
		return false, "", err
	case seen.refused != nil || seen.slots == 0:
		return false, "", errors.New("no slot stays without a Linode")
	case len(seen.events) == 0:
		return false, fmt.Sprintf("no event of %d slots", seen.slots), nil
	}
	late := seen.events[0].At.Sub(seen.at)
	return len(seen.events) == 1 && late > -10*time.Second && late < 5*time.Minute,
		fmt.Sprintf("%d events of one slot, %s after the request", len(seen.events), late.Round(time.Second)), nil
}
