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

// insteadTag is the prefix of the tag of a pool whose version LKE has refused, followed by that version. The pool
// has another build of the same minor version.
const insteadTag = "lkeplan-instead-of="

// substitute is the build that new pools get in place of a version that LKE Enterprise has refused. LKE offers
// builds to each account and only for some hours, while a control plane can run a build that is not offered any
// more.
type substitute struct {
	version string
	until   time.Time
}

// substituteFor is how long a refused version is not requested again.
const substituteFor = time.Hour

// makePool creates a pool of n nodes. If LKE Enterprise refuses its version, the pool gets the newest offered build
// of the same minor version, and never another minor version. For this reason each pool is created with a version;
// without one, LKE would choose.
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

// makeInstead creates a pool of another build, and notes the refused version in its tags.
func (f *Syncer) makeInstead(ctx context.Context, spec api.PoolSpec, want, version string) (api.Pool, error) {
	spec.Tags = append(spec.Tags, insteadTag+want)
	spec.K8sVersion = &version
	return f.cfg.API.CreatePool(ctx, f.cfg.Cluster.ID, spec)
}

// newestBuild returns the newest offered build of the minor version of another build; "" if there is none or it is
// unknown. It prefers builds that are not newer, because LKE may not create nodes that are newer than the control
// plane.
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
