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

// leftover is an object that a probe has created.
type leftover struct {
	what, path string
	ending     bool // it is being deleted
}

// leftovers returns everything that a probe has created in the account. The cluster that the user named is not among
// it.
func (r *run) leftovers(ctx context.Context) (all []leftover, err error) {
	add := func(ending bool, what, path string, ids ...any) {
		path = fmt.Sprintf(path, ids...)
		all = append(all, leftover{fmt.Sprint(what, " ", ids[len(ids)-1]), path, ending})
	}
	clusters, err := r.api.Clusters(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range clusters {
		if ours(c.Label, c.Tags) && c.ID != r.Cluster {
			add(false, "cluster", "lke/clusters/%d", c.ID)
			continue
		}
		pools, err := r.api.Pools(ctx, c.ID)
		if err != nil && api.ClassOf(err) != api.ClassNotFound {
			return nil, err
		}
		for _, p := range pools {
			if slices.Contains(p.Tags, Tag) {
				add(false, "pool", "lke/clusters/%d/pools/%d", c.ID, p.ID)
			}
		}
	}
	linodes, err := r.api.Instances(ctx, Tag)
	if err != nil {
		return nil, err
	}
	for _, l := range linodes {
		if ours(l.Label, l.Tags) {
			add(l.Status == "deleting", "Linode", "linode/instances/%d", l.ID)
		}
	}
	groups, err := r.api.PlacementGroups(ctx)
	for _, g := range groups {
		if strings.HasPrefix(g.Label, Tag+"-") {
			add(false, "placement group", "placement/groups/%d", g.ID)
		}
	}
	return all, err
}

// clean deletes everything that a probe has created in the account. It repeats calls that fail, because placement
// groups cannot be deleted before their Linodes are gone, and the connection may be lost for a while.
func (r *run) clean(ctx context.Context) error {
	r.rec.stop()
	ctx, cancel := context.WithTimeout(ctx, cleanWithin)
	defer cancel()
	for {
		all, err := r.leftovers(ctx)
		if err == nil && len(all) == 0 {
			return nil
		}
		for _, l := range all {
			if l.ending {
				continue
			}
			failed := r.api.Call(ctx, http.MethodDelete, l.path, "", nil, nil)
			if failed != nil && api.ClassOf(failed) != api.ClassNotFound {
				err = errors.Join(err, fmt.Errorf("%s: %w", l.what, failed))
			}
		}
		if api.ClassOf(err) == api.ClassAuth {
			return err
		}
		if ended := pause(ctx, 5*time.Second); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// ours reports whether a probe has created an object: it has both the tag and the label.
func ours(label string, tags []string) bool {
	return strings.HasPrefix(label, Tag+"-") && slices.Contains(tags, Tag)
}
