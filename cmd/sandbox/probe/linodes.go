package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
)

// Experiments with Linodes outside of pools, and with placement groups.

func (r *run) makeLinode(ctx context.Context, more fields) (linode api.Instance, err error) {
	body := fields{"type": nano, "region": r.Region, "label": r.label(), "tags": []string{Tag}}
	for key, value := range more {
		body[key] = value
	}
	err = r.api.Call(ctx, http.MethodPost, "linode/instances", "", body, &linode)
	return linode, err
}

// there reports whether the API still has a Linode.
func (r *run) there(ctx context.Context, id int) (bool, error) {
	_, err := r.linode(ctx, id)
	if api.ClassOf(err) == api.ClassNotFound {
		return false, nil
	}
	return err == nil, err
}

// labelTaken is an experiment of the probe. It tests the assumption: Linode refuses a label that is in use with
// 400, the field `label` and a text with "must be unique", and a Linode holds its label until it is deleted.
func labelTaken(ctx context.Context, r *run) (bool, string, error) {
	first, err := r.makeLinode(ctx, nil)
	if err != nil {
		return false, "", err
	}
	same := fields{"label": first.Label}
	_, err = r.makeLinode(ctx, same)
	if err == nil {
		return false, "a second Linode has the same label", nil
	}
	reasons, other := reasonsOf(err)
	if other != nil || api.ClassOf(err) != api.ClassLabelTaken {
		return false, quote(reasons), other
	}
	if err := r.api.DeleteInstance(ctx, first.ID); err != nil {
		return false, "", err
	}
	held, started := true, time.Now()
	_, err = until(ctx, 3*time.Minute, 5*time.Second, func() (bool, error) {
		_, err := r.makeLinode(ctx, same)
		if err != nil {
			if api.ClassOf(err) == api.ClassLabelTaken {
				err = nil
			}
			return false, err
		}
		there, err := r.there(ctx, first.ID)
		held = !there
		return true, err
	})
	return held, fmt.Sprintf("%s; free %s after the deletion", quote(reasons), time.Since(started).Round(time.Second)), err
}

// swap is an experiment of the probe. It tests the assumption: a Linode that is created with `swap_size` 0 has no
// swap.
func swap(ctx context.Context, r *run) (bool, string, error) {
	linode, err := r.makeLinode(ctx, fields{
		"image": "linode/debian12", "root_pass": random(16) + "aA1!", "swap_size": 0, "booted": false,
	})
	if err != nil {
		return false, "", err
	}
	kinds, err := r.disks(ctx, linode.ID)
	return !slices.Contains(kinds, "swap"), "disks: " + strings.Join(kinds, ", "), err
}

func (r *run) makeGroup(ctx context.Context, label, region string) (id int, err error) {
	var group struct{ ID int }
	err = r.api.Call(ctx, http.MethodPost, "placement/groups", "", fields{
		"label": label, "region": region, "placement_group_type": "anti_affinity:local", "placement_group_policy": "strict",
	}, &group)
	return group.ID, err
}

// groupSeen is what was observed when more and more Linodes were added to a placement group.
type groupSeen struct {
	members int
	refused error
	// again is the error for another Linode while one of the group's Linodes was being deleted; nil if that one was
	// gone immediately.
	again  error
	joined bool // another Linode was accepted while the deleted one still existed
}

func (r *run) watchGroup(ctx context.Context) (*groupSeen, error) {
	return r.groups.get(func() (*groupSeen, error) {
		id, err := r.makeGroup(ctx, r.label(), r.Region)
		if err != nil {
			return nil, err
		}
		seen, in := &groupSeen{}, fields{"placement_group": fields{"id": id}}
		var member api.Instance
		for seen.refused == nil && seen.members < 6 {
			linode, err := r.makeLinode(ctx, in)
			switch _, other := reasonsOf(err); {
			case err == nil:
				member = linode
				seen.members++
			case other != nil:
				return nil, err
			default:
				seen.refused = err
			}
		}
		if seen.refused == nil || seen.members == 0 {
			return seen, nil
		}
		if err := r.api.DeleteInstance(ctx, member.ID); err != nil {
			return nil, err
		}
		_, seen.again = r.makeLinode(ctx, in)
		if seen.again == nil {
			seen.joined, err = r.there(ctx, member.ID)
		}
		return seen, err
	})
}

// groupSize is an experiment of the probe. It tests the assumption: a placement group allows five Linodes.
func groupSize(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchGroup(ctx)
	if err != nil {
		return false, "", err
	}
	return seen.members == 5 && seen.refused != nil, fmt.Sprintf("%d Linodes were accepted", seen.members), nil
}

// groupFull is an experiment of the probe. It tests the assumption: a full placement group refuses a Linode with a
// 400 about `placement_group.id`, and a Linode is a member until it is deleted.
func groupFull(ctx context.Context, r *run) (bool, string, error) {
	seen, err := r.watchGroup(ctx)
	switch {
	case err != nil:
		return false, "", err
	case seen.refused == nil:
		return false, "", errors.New("the group was not full")
	case seen.joined:
		return false, "a Linode that is being deleted is no member", nil
	}
	reasons, err := reasonsOf(seen.refused)
	return api.RefusesField(seen.refused, "placement_group.id") && (seen.again == nil ||
		api.RefusesField(seen.again, "placement_group.id")), quote(reasons), err
}

// groupLabel is an experiment of the probe. It tests the assumption: the label of a placement group may have 31
// characters: letters, digits and dashes.
func groupLabel(ctx context.Context, r *run) (bool, string, error) {
	label := r.label()
	label += "-" + strings.Repeat("x", 30-len(label))
	id, err := r.makeGroup(ctx, label, r.Region)
	if err != nil {
		reasons, err := reasonsOf(err)
		return false, quote(reasons), err
	}
	return true, fmt.Sprintf("%d characters accepted", len(label)), r.api.DeletePlacementGroup(ctx, id)
}

// groupUnique is an experiment of the probe. It tests the assumption: the label of a placement group is unique in
// the account, across regions.
func groupUnique(ctx context.Context, r *run) (bool, string, error) {
	other := ""
	for _, region := range r.catalog.Regions() {
		if region.ID != r.Region && region.Has("Placement Group") && region.Status == "ok" {
			other = region.ID
			break
		}
	}
	label := r.label()
	if _, err := r.makeGroup(ctx, label, r.Region); err != nil {
		return false, "", err
	}
	_, err := r.makeGroup(ctx, label, other)
	if err == nil {
		return false, "the label is accepted in " + other + " as well", nil
	}
	reasons, err := reasonsOf(err)
	if err != nil {
		return false, "", err
	}
	return refused(reasons, "label")
}
