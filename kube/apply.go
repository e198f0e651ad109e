// Package kube reads and writes a cluster: it validates objects as the API server
// would, applies them, waits until they are ready, and prevents conflicts between
// the controllers of one process. Each request to the API server has a time limit,
// and each answer must have the kind that was requested (bound.go).
//
// It works on plain objects; it does not know HCL, files, or Linode.
package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// FieldManager owns the fields that lkeplan applies.
const FieldManager = "lkeplan"

// InventoryLabel ties an object to the configuration that declares it. It distinguishes
// objects that are no longer declared from objects of other owners. Its value is the owner.
const InventoryLabel = "lkeplan.dev/part-of"

// OriginAnnotation is the directory of the cluster from which lkeplan apply applied an
// object.
const OriginAnnotation = "lkeplan.dev/directory"

// NodePlanOwner is the prefix of the label's value if a NodePlan owns the object:
// nodeplan.NAMESPACE.NAME.
const NodePlanOwner = "nodeplan"

// LabelValue joins names with dots to the value of a label. If the result is longer
// than the 63 characters of a label, its end is a digest of all names.
func LabelValue(names ...string) string {
	const most = 63
	joined := strings.Join(names, ".")
	if len(joined) <= most {
		return joined
	}
	sum := sha256.Sum256([]byte(strings.Join(names, "/")))
	digest := hex.EncodeToString(sum[:8])
	return strings.TrimRight(joined[:most-len(digest)-1], "-._") + "." + digest
}

// Cluster is a Kubernetes cluster to read from and apply to.
type Cluster struct {
	client  client.WithWatch
	config  *rest.Config
	http    *http.Client
	mapper  meta.RESTMapper
	server  *url.URL
	host    string
	context string // of the kubeconfig; empty if there was none

	namespace string // of the context
}

// NewCluster returns the cluster of a client configuration. Nothing is sent
// before the first use.
func NewCluster(cfg *rest.Config) (*Cluster, error) { return newCluster(cfg, Timeouts{}) }

func newCluster(cfg *rest.Config, timeouts Timeouts) (*Cluster, error) {
	cfg, err := timeouts.config(cfg)
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Burst, cfg.UserAgent = 500, 1000, "lkeplan" // the API server has its own fairness
	c := &Cluster{config: cfg, host: cfg.Host}
	if c.server, _, err = rest.DefaultServerUrlFor(cfg); err == nil {
		c.http, err = rest.HTTPClientFor(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if c.mapper, err = apiutil.NewDynamicRESTMapper(cfg, c.http); err != nil {
		return nil, explainError(err, cfg.Host)
	}
	c.client, err = c.Client(runtime.NewScheme())
	return c, err
}

// Client returns a client of the cluster that knows the types of a scheme. Its calls end with
// their contexts. After an error, do not read the object that the call should have filled in.
func (c *Cluster) Client(types *runtime.Scheme) (client.WithWatch, error) {
	made, err := client.NewWithWatch(c.config, client.Options{Scheme: types, HTTPClient: c.http, Mapper: c.mapper})
	if err != nil {
		return nil, explainError(err, c.host)
	}
	return Client(made, c.host), nil
}

// Outcome is what applying an object did.
type Outcome string

// The outcomes of Apply.
const (
	Created   Outcome = "created"
	Changed   Outcome = "changed"
	Unchanged Outcome = "unchanged"
)

// Apply sets the fields of desired on the cluster's object, by server-side apply
// without force. If another owner has set a field to another value, it changes
// nothing and returns an error that names the field and its owner. The outcome
// follows from the argument before: the object as it was read, or nil;
// desired should be Spelled as that is.
func (c *Cluster) Apply(ctx context.Context, desired, before map[string]any) (Outcome, error) {
	return c.apply(ctx, desired, before)
}

// ApplyForced is like Apply, and takes over fields that other owners have set to
// other values.
func (c *Cluster) ApplyForced(ctx context.Context, desired, before map[string]any) (Outcome, error) {
	return c.apply(ctx, desired, before, client.ForceOwnership)
}

// TakeBack is like Apply, and takes over the fields of these paths, such as
// spec.weight, that other owners have set to other values. If other owners have
// set further fields, it changes nothing.
func (c *Cluster) TakeBack(ctx context.Context, desired, before map[string]any, paths []string) (Outcome, error) {
	const attempts = 5 // controllers write to the object, too
	for attempt := 1; ; attempt++ {
		live, err := c.Get(ctx, desired)
		if err != nil {
			return "", err
		}
		_, conflicts, err := c.DryRun(ctx, desired)
		if err != nil {
			return "", err
		}
		for _, found := range conflicts {
			if !slices.Contains(paths, found.Path) {
				return "", fmt.Errorf("%s: nothing was changed: %s has set .%s meanwhile", manifest.KeyOf(desired), found.Owner,
					found.Path)
			}
		}
		exactly := runtime.DeepCopyJSON(desired)
		if live != nil { // so that only the fields that are in conflict now are taken over
			manifest.Ensure(exactly, "metadata")["resourceVersion"] = manifest.Text(live, "metadata", "resourceVersion")
		}
		outcome, err := c.apply(ctx, exactly, before, client.ForceOwnership)
		if attempt == attempts || !errors.Is(err, ErrChanged) {
			return outcome, err
		}
	}
}

func (c *Cluster) apply(ctx context.Context, desired, before map[string]any,
	opts ...client.ApplyOption) (Outcome, error) {
	applied := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(desired)}
	err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied),
		append(opts, client.FieldOwner(FieldManager))...)
	switch {
	case apierrors.IsConflict(err):
		return "", fmt.Errorf("%s: %w", manifest.KeyOf(desired), conflictError(err))
	case err != nil:
		return "", fmt.Errorf("apply %s: %w", manifest.KeyOf(desired), explainError(err, c.host))
	case applied.GetUID() == "":
		return "", fmt.Errorf("apply %s: %w", manifest.KeyOf(desired), c.noObject())
	case manifest.UID(before) != manifest.UID(applied.Object): // the answer of the API server
		return Created, nil
	}
	was := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(before)}
	if equality.Semantic.DeepEqual(configuredFields(was), configuredFields(applied)) {
		return Unchanged, nil
	}
	return Changed, nil
}

// ListLabelled returns all objects of a kind, in all namespaces, that have a
// label with a value.
func (c *Cluster) ListLabelled(ctx context.Context, apiVersion, kind, label, value string) ([]map[string]any, error) {
	return c.list(ctx, apiVersion, kind, client.MatchingLabels{label: value})
}

// Get returns an object as it is now; nil if it does not exist.
func (c *Cluster) Get(ctx context.Context, like map[string]any) (map[string]any, error) {
	wanted, live := &unstructured.Unstructured{Object: like}, &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	err := c.client.Get(ctx, client.ObjectKeyFromObject(wanted), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", manifest.KeyOf(like), explainError(err, c.host))
	}
	return live.Object, nil
}

// DryRun returns the object that the API server would store, without storing it.
// If another owner has set a field to another value, the result is that of a
// forced apply, and the conflicts are the fields that it would take over. The
// error is ErrMayNotApply if the user lacks the permission to apply the object.
func (c *Cluster) DryRun(ctx context.Context, desired map[string]any) (map[string]any, []manifest.Conflict, error) {
	var conflicts []manifest.Conflict
	for _, opts := range [][]client.ApplyOption{{client.DryRunAll}, {client.DryRunAll, client.ForceOwnership}} {
		answer := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(desired)}
		err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(answer),
			append(opts, client.FieldOwner(FieldManager))...)
		switch {
		case apierrors.IsConflict(err):
			conflicts = conflictsOf(err)
		case lacksPermission(err):
			return nil, nil, fmt.Errorf("dry run of %s: %w: %w", manifest.KeyOf(desired), ErrMayNotApply, err)
		case err != nil:
			return nil, nil, fmt.Errorf("dry run of %s: %w", manifest.KeyOf(desired), explainError(err, c.host))
		case answer.GetUID() == "":
			return nil, nil, fmt.Errorf("dry run of %s: %w", manifest.KeyOf(desired), c.noObject())
		default:
			return answer.Object, conflicts, nil
		}
	}
	return nil, conflicts, fmt.Errorf("dry run of %s: a forced apply has conflicts, too", manifest.KeyOf(desired))
}

// ErrMayNotApply means that a user lacks the permission to apply an object.
var ErrMayNotApply = errors.New("the user may not apply it")

// lacksPermission reports whether the authorizer has refused a request. Webhooks and policies of
// admission refuse objects with the same code.
func lacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && (strings.Contains(err.Error(), " cannot patch resource ") ||
		strings.Contains(err.Error(), " cannot create resource "))
}

// configuredFields returns the part of an object that users configure, without what the API
// server and controllers add.
func configuredFields(obj *unstructured.Unstructured) map[string]any {
	annotations := obj.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, "karpenter.") })
	asked := map[string]any{"labels": obj.GetLabels(), "annotations": annotations}
	for key, value := range obj.Object {
		if key != "metadata" && key != "status" {
			asked[key] = value
		}
	}
	return asked
}

// List returns all objects of a kind, in all namespaces. It is a GET.
func (c *Cluster) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	return c.list(ctx, apiVersion, kind)
}

func (c *Cluster) list(ctx context.Context, apiVersion, kind string,
	opts ...client.ListOption) ([]map[string]any, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind + "List")
	if err := c.client.List(ctx, list, opts...); err != nil {
		return nil, fmt.Errorf("list objects of kind %s: %w", kind, explainError(err, c.host))
	}
	objects := make([]map[string]any, len(list.Items))
	for i, item := range list.Items {
		objects[i] = item.Object
	}
	return objects, nil
}

// Delete deletes an object with its UID. It is no error if the object no longer
// exists; it is an error if another object has its name.
func (c *Cluster) Delete(ctx context.Context, obj map[string]any) error {
	u := &unstructured.Unstructured{Object: obj}
	uid := u.GetUID()
	err := c.client.Delete(ctx, u, client.Preconditions{UID: &uid})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("delete %s: another object with this name has replaced it", manifest.KeyOf(obj))
	case err != nil:
		return fmt.Errorf("delete %s: %w", manifest.KeyOf(obj), explainError(err, c.host))
	}
	return nil
}

// Orphan removes the inventory label and the origin from an object, which stays and is no longer
// managed. It is no error if the object no longer exists.
func (c *Cluster) Orphan(ctx context.Context, obj map[string]any) error {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null},"annotations":{%q:null}}}`, InventoryLabel, OriginAnnotation)
	if err := c.client.Patch(ctx, u, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("orphan %s: %w", manifest.KeyOf(obj), explainError(err, c.host))
	}
	return nil
}

// conflictError returns the error for the API server's list of conflicts: each field and its owner.
func conflictError(err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return err
	}
	if len(answer.Status().Details.Causes) == 0 {
		return ErrChanged // since the version that was named
	}
	var lines []string
	for _, cause := range answer.Status().Details.Causes {
		lines = append(lines, fmt.Sprintf("  %s: %s", cause.Field, cause.Message))
	}
	return fmt.Errorf("other field managers set other values; nothing was changed:\n%s\nremove the field from the "+
		"configuration, or from the configuration of its owner", strings.Join(lines, "\n"))
}

// noObject returns the error for an answer that does not contain the object.
func (c *Cluster) noObject() error {
	return fmt.Errorf("the API server at %s did not answer with the object; check that KUBECONFIG names an API "+
		"server, and check any proxy in between", c.host)
}

// Explain adds what to do to an error of a client with the configuration of this cluster.
func (c *Cluster) Explain(err error) error { return explainError(err, c.host) }

// explainError adds what to do to the errors that users meet first.
func explainError(err error, host string) error {
	var dial *net.OpError
	var request *url.Error
	switch {
	case meta.IsNoMatchError(err):
		return fmt.Errorf("%w; install the CRDs with: lkeplan crds apply", err)
	case errors.As(err, &dial), errors.As(err, &request) && request.Timeout():
		return fmt.Errorf("the API server at %s does not answer: %w; check KUBECONFIG", host, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server at %s does not accept the credentials: %w; check KUBECONFIG", host, err)
	}
	return err
}
