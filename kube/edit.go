package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Namespace returns the namespace of the kubeconfig's context.
func (c *Cluster) Namespace() string { return c.namespace }

// ListIn returns all objects of a kind in a namespace; "" is all namespaces.
func (c *Cluster) ListIn(ctx context.Context, apiVersion, kind, namespace string) ([]map[string]any, error) {
	return c.list(ctx, apiVersion, kind, client.InNamespace(namespace))
}

// Merge sets the fields in change on an object, for a field manager; null removes a field. Owners
// of fields do not matter.
func (c *Cluster) Merge(ctx context.Context, obj, change map[string]any, manager string) error {
	return c.merge("", obj, change, func(target client.Object, patch client.Patch) error {
		return c.client.Patch(ctx, target, patch, client.FieldOwner(manager))
	})
}

// MergeStatus is Merge for the status of an object.
func (c *Cluster) MergeStatus(ctx context.Context, obj, change map[string]any, manager string) error {
	return c.merge("the status of ", obj, change, func(target client.Object, patch client.Patch) error {
		return c.client.Status().Patch(ctx, target, patch, client.FieldOwner(manager))
	})
}

func (c *Cluster) merge(part string, obj, change map[string]any, send func(client.Object, client.Patch) error) error {
	raw, err := json.Marshal(change)
	if err != nil {
		return err
	}
	target, like := &unstructured.Unstructured{}, &unstructured.Unstructured{Object: obj}
	target.SetGroupVersionKind(like.GroupVersionKind())
	target.SetNamespace(like.GetNamespace())
	target.SetName(like.GetName())
	if err := send(target, client.RawPatch(types.MergePatchType, raw)); err != nil {
		return fmt.Errorf("change %s%s: %w", part, manifest.KeyOf(obj), explainError(err, c.host))
	}
	return nil
}

// User returns the name of the user for the API server.
func (c *Cluster) User(ctx context.Context) (string, error) {
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview",
	}}
	if err := c.client.Create(ctx, review); err != nil {
		return "", fmt.Errorf("get the name of the user: %w", explainError(err, c.host))
	}
	name := manifest.Text(review.Object, "status", "userInfo", "username")
	if name == "" {
		return "", fmt.Errorf("get the name of the user: %w", c.noObject())
	}
	return name, nil
}
