package kube

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/keymutex"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Fresh returns a client that does not send writes that must fail: a write that
// requires a version of an object which a later write through this client has
// replaced. It returns the conflict that the API server would return.
//
// Several controllers of one process write the status of one object, each from
// a cache that lags behind the writes of the others. When 1,000 NodePools were
// created together, Karpenter's controllers sent eight such writes for each, and
// five useful ones. A conflict without a request saves the API server that work.
func Fresh(c client.WithWatch) client.WithWatch {
	v := &versions{written: cache.NewExpiring(), writing: keymutex.NewHashed(64)}
	return interceptor.NewClient(c, interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return v.inOrder(c, obj, obj.GetResourceVersion(), func() error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			return v.patch(c, obj, patch, func(patch client.Patch) error { return c.Patch(ctx, obj, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, part string, obj client.Object,
			opts ...client.SubResourceUpdateOption) error {
			return v.inOrder(c, obj, obj.GetResourceVersion(),
				func() error { return c.SubResource(part).Update(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, part string, obj client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return v.patch(c, obj, patch,
				func(patch client.Patch) error { return c.SubResource(part).Patch(ctx, obj, patch, opts...) })
		},
	})
}

// asked is the version that a patch requires; empty if it accepts any.
func asked(patch []byte) string {
	var p struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(patch, &p) != nil {
		return "" // a list of operations, as a JSON patch is
	}
	return p.Metadata.ResourceVersion
}

// versions are the latest written versions.
type versions struct {
	written *cache.Expiring // the version by object
	writing keymutex.KeyMutex
}

// remembered is how long a version is kept: a cache that lags further behind gets
// its conflicts from the API server.
const remembered = time.Minute

// patch sends a patch in order, with the data from which the required version was read.
func (v *versions) patch(c client.Client, obj client.Object, patch client.Patch, send func(client.Patch) error) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	return v.inOrder(c, obj, asked(data), func() error { return send(client.RawPatch(patch.Type(), data)) })
}

// inOrder makes one write at a time to an object, and only if the write requires the
// latest version, or accepts any ("").
func (v *versions) inOrder(c client.Client, obj client.Object, version string, write func() error) error {
	gvk, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return err
	}
	key := strings.Join([]string{gvk.Group, gvk.Kind, obj.GetNamespace(), obj.GetName()}, "/")
	v.writing.LockKey(key)
	defer v.writing.UnlockKey(key)
	newest, _ := v.written.Get(key)
	if last, ok := newest.(string); ok && version != "" && older(version, last) {
		kind := schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind)}
		return apierrors.NewConflict(kind, obj.GetName(), errors.New("this process has already written a later version"))
	}
	if err := write(); err != nil {
		return err
	}
	v.written.Set(key, obj.GetResourceVersion(), remembered)
	return nil
}

// older compares versions as clients are allowed to (Kubernetes 1.35). Versions of
// another form are not compared.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
