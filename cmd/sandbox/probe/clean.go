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

// cleanWithin is the time limit of a deletion.
const cleanWithin = 10 * time.Minute

// clean deletes everything that a probe has created in the account.
func (r *run) clean(ctx context.Context) error {
	r.rec.stop()
	return errors.Join(r.cleanClusters(ctx), r.cleanLinodes(ctx), r.cleanGroups(ctx))
}

func (r *run) cleanClusters(ctx context.Context) error {
	clusters, err := r.api.Clusters(ctx)
	if err != nil {
		return err
	}
	for _, c := range clusters {
		if ours(c.Label, c.Tags) && c.ID != r.Cluster {
			err = errors.Join(err, r.delete(ctx, fmt.Sprintf("lke/clusters/%d", c.ID)))
			continue
		}
		pools, failed := r.api.Pools(ctx, c.ID)
		err = errors.Join(err, failed)
		for _, p := range pools {
			if slices.Contains(p.Tags, Tag) {
				err = errors.Join(err, r.api.DeletePool(ctx, c.ID, p.ID))
			}
		}
	}
	return err
}

func (r *run) cleanLinodes(ctx context.Context) error {
	linodes, err := r.api.Instances(ctx, Tag)
	for _, l := range linodes {
		if ours(l.Label, l.Tags) {
			err = errors.Join(err, r.api.DeleteInstance(ctx, l.ID))
		}
	}
	return err
}

// cleanGroups waits until the Linodes in a group are gone.
func (r *run) cleanGroups(ctx context.Context) error {
	groups, err := r.api.PlacementGroups(ctx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if !strings.HasPrefix(g.Label, Tag+"-") {
			continue
		}
		var refused error
		_, waited := until(ctx, 5*time.Minute, 5*time.Second, func() (bool, error) {
			refused = r.api.DeletePlacementGroup(ctx, g.ID)
			return refused == nil, nil
		})
		err = errors.Join(err, refused, waited)
	}
	return err
}

// ours reports whether a probe has created an object: it has both the tag and the label.
func ours(label string, tags []string) bool {
	return strings.HasPrefix(label, Tag+"-") && slices.Contains(tags, Tag)
}

// delete deletes an object that may not exist any more.
func (r *run) delete(ctx context.Context, path string) error {
	err := r.api.Call(ctx, http.MethodDelete, path, "", nil, nil)
	if api.ClassOf(err) == api.ClassNotFound {
		return nil
	}
	return err
}
