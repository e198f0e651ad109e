package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Server returns the version of the API server.
func (c *Cluster) Server(ctx context.Context) (found version.Info, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.JoinPath("version").String(), nil)
	if err != nil {
		return found, err
	}
	var answer version.Info
	err = Within(ctx, func() error {
		resp, err := c.http.Do(req)
		if err != nil {
			return explainError(err, c.host)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return json.NewDecoder(resp.Body).Decode(&answer)
	})
	if err == nil && answer.GitVersion == "" {
		err = c.noObject()
	}
	if err != nil {
		return found, fmt.Errorf("get the version of the API server: %w", err)
	}
	return answer, nil
}

// May reports whether RBAC allows a service account an action. It requires the right to create
// SubjectAccessReviews.
func (c *Cluster) May(ctx context.Context, namespace, account string,
	what authorizationv1.ResourceAttributes) (bool, error) {
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               "system:serviceaccount:" + namespace + ":" + account,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
		ResourceAttributes: &what,
	}}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	return c.ask(ctx, &review, review.Spec.User)
}

// ask creates an access review of a user, and returns its result.
func (c *Cluster) ask(ctx context.Context, review any, who string) (allowed bool, err error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, err
	}
	delete(fields, "status") // so that a status can only come from the answer
	asked := &unstructured.Unstructured{Object: fields}
	if err := c.client.Create(ctx, asked); err != nil {
		return false, fmt.Errorf("check the permissions of %s: %w", who, explainError(err, c.host))
	}
	answer, told := manifest.Lookup(asked.Object, "status", "allowed")
	if !told {
		return false, fmt.Errorf("check the permissions of %s: %w", who, c.noObject())
	}
	return answer == true, nil
}
