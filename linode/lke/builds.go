package lke

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/capacity"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// insteadTag is the beginning of the tag of a pool whose version LKE has refused: the rest is
// that version. The pool has another build of the same minor version.
const insteadTag = "lkeplan-instead-of="

// substitute is how pools are created of a version that LKE Enterprise has refused: builds are on
// offer for each account and for hours, and a control plane can run one that is not.
type substitute struct {
	version string
	until   time.Time
}

// substituteFor is how long a version that was refused is not asked for again.
const substituteFor = time.Hour

// makePool creates a pool of n nodes. If LKE Enterprise refuses its version, it is made of the
// newest build of the same minor version that the account is offered, never of another minor
// version: for that reason no pool is created without a version, which leaves the choice to LKE.
//
// Unverified: that pools are refused so.
func (f *Syncer) makePool(ctx context.Context, w capacity.Work, n int) (api.Pool, error) {
	spec := poolSpec(w.Group, n, f.cfg.Cluster)
	if spec.K8sVersion == nil {
		return f.cfg.API.CreatePool(ctx, f.cfg.Cluster.ID, spec)
	}
	want := *spec.K8sVersion
	f.mu.Lock()
	known := f.builds[want]
	f.mu.Unlock()
	if time.Now().Before(known.until) {
		pool, err := f.makeInstead(ctx, spec, want, known.version)
		if !api.RefusesField(err, "k8s_version") {
			return pool, err
		}
	}
	pool, refused := f.cfg.API.CreatePool(ctx, f.cfg.Cluster.ID, spec)
	if !api.RefusesField(refused, "k8s_version") {
		return pool, refused
	}
	version := f.newestBuild(ctx, want)
	if version == "" {
		return pool, refused
	}
	pool, err := f.makeInstead(ctx, spec, want, version)
	if err != nil {
		return pool, err
	}
	f.mu.Lock()
	f.builds[want] = substitute{version: version, until: time.Now().Add(substituteFor)}
	f.mu.Unlock()
	f.cfg.Log.Warn("LKE no longer offers the version; the pool has another build", "version", want, "pool", pool.ID,
		"build", version)
	f.warn(ctx, w.Served(), "KubernetesBuildReplaced", fmt.Sprintf("LKE Enterprise no longer creates node pools of %s; "+
		"the pool was created with %s, the same minor version", want, version))
	return pool, nil
}

// makeInstead creates a pool of another build, and notes in its tags in place of which.
func (f *Syncer) makeInstead(ctx context.Context, spec api.PoolSpec, want, version string) (api.Pool, error) {
	spec.Tags = append(spec.Tags, insteadTag+want)
	spec.K8sVersion = &version
	return f.cfg.API.CreatePool(ctx, f.cfg.Cluster.ID, spec)
}

// newestBuild is the newest build on offer of the minor version of another; "" if there is
// none or it is not known. One that is not newer is preferred: whether LKE makes nodes that are
// newer than the control plane is not known.
func (f *Syncer) newestBuild(ctx context.Context, of string) string {
	versions, err := f.cfg.API.Versions(ctx, catalog.Enterprise)
	if err != nil {
		f.cfg.Log.Error("could not list the versions of LKE Enterprise", "error", err)
		return ""
	}
	var older, newer []string
	for _, v := range versions {
		switch {
		case v == of || !sameMinor(v, of):
		case catalog.NewerVersion(v, of):
			newer = append(newer, v)
		default:
			older = append(older, v)
		}
	}
	return cmp.Or(catalog.NewestVersion(older...), catalog.NewestVersion(newer...))
}

func sameMinor(a, b string) bool {
	v, ok := catalog.ParseVersion(a)
	w, alsoOK := catalog.ParseVersion(b)
	return ok && alsoOK && v.Minor() == w.Minor()
}
