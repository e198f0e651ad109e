package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// Client returns a client of an API server whose calls end with their contexts, and that does not take a
// list of one kind for an empty list of another. The client must have a configuration of Config. After
// an error, do not read the object that the call should have filled in.
func Client(c client.WithWatch, host string) client.WithWatch {
	a := asking{c, host}
	return interceptor.NewClient(c, interceptor.Funcs{ // all calls that are used
		Get: a.get, List: a.list, Watch: a.watch,
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return Within(ctx, func() error { return c.Create(ctx, obj, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return Within(ctx, func() error { return c.Delete(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			return Within(ctx, func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration,
			opts ...client.ApplyOption) error {
			return Within(ctx, func() error { return c.Apply(ctx, obj, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, name string, obj, part client.Object,
			opts ...client.SubResourceCreateOption) error {
			return Within(ctx, func() error { return c.SubResource(name).Create(ctx, obj, part, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption) error {
			return Within(ctx, func() error { return c.SubResource(name).Patch(ctx, obj, patch, opts...) })
		},
	})
}

// asking has the client calls that check the kind of their answers.
type asking struct {
	client.Client
	host string
}

// Within makes a call that ends with its context, even if the call waits for discovery or for a
// program that logs in, which have no context. The call can continue after that; its result is lost.
func Within(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return readableError(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readableError returns the error of a missing or wrong answer, without the text that libraries add. Each
// further line of an API server's message gets a mark in front.
func readableError(err error) error {
	if silence, ok := errors.AsType[NoResponseError](err); ok {
		return silence
	}
	if wrong, ok := errors.AsType[KindError](err); ok {
		return wrong
	}
	if err != nil && errors.As(err, new(apierrors.APIStatus)) && strings.Contains(err.Error(), "\n") {
		return quoted{err}
	}
	return err
}

// quoted is a message of several lines from an API server: webhooks and policies can write parts of it.
type quoted struct{ error }

// Error implements error.
func (q quoted) Error() string { return strings.ReplaceAll(q.error.Error(), "\n", "\n| ") }

// Unwrap returns the error of the client.
func (q quoted) Unwrap() error { return q.error }

func (a asking) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
	opts ...client.GetOption) error {
	return Within(ctx, func() error {
		err := c.Get(ctx, key, obj, opts...)
		if err == nil && obj.GetName() != key.Name {
			return a.wrongAnswer(obj, "/"+key.Name, "an object without its name")
		}
		return err
	})
}

// list returns a KindError if the answer is a list of another kind.
func (a asking) list(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	want, err := apiutil.GVKForObject(list, a.Scheme())
	if err != nil {
		return err
	}
	return Within(ctx, func() error {
		if err := c.List(ctx, list, opts...); err != nil {
			return err
		}
		if of, ok := list.(*unstructured.UnstructuredList); ok {
			return a.listed(of, want)
		}
		if list.GetResourceVersion() != "" { // a list that was not filled in has none
			return nil
		}
		again := &unstructured.UnstructuredList{}
		again.SetGroupVersionKind(want)
		if err := c.List(ctx, again, opts...); err != nil {
			return err
		}
		return a.listed(again, want)
	})
}

// listed returns an error if a list has another kind than requested.
func (a asking) listed(list *unstructured.UnstructuredList, want schema.GroupVersionKind) error {
	got := list.GroupVersionKind()
	if got == want {
		return nil
	}
	list.SetGroupVersionKind(want)
	return a.wrongAnswer(list, "", cameAs(got, want))
}

// cameAs names a kind that was returned for another one.
func cameAs(got, want schema.GroupVersionKind) string {
	if got.Kind == want.Kind {
		return fmt.Sprintf("a %s of %s", got.Kind, got.GroupVersion())
	}
	return "a " + got.Kind
}

// wrongAnswer returns the error for an answer that does not have the requested object.
func (a asking) wrongAnswer(obj runtime.Object, path, got string) error {
	want, err := apiutil.GVKForObject(obj, a.Scheme())
	if err != nil {
		return err
	}
	kind := schema.GroupKind{Group: want.Group, Kind: strings.TrimSuffix(want.Kind, "List")}
	mapping, err := a.RESTMapper().RESTMapping(kind, want.Version)
	if err != nil {
		return err
	}
	at := "/apis/" + want.Group + "/"
	if want.Group == "" {
		at = "/api/"
	}
	return KindError{
		Host: a.host, Request: "GET " + at + want.Version + "/" + mapping.Resource.Resource + path, Kind: got,
		Want: "a " + want.Kind,
	}
}

func (a asking) watch(ctx context.Context, c client.WithWatch, list client.ObjectList,
	opts ...client.ListOption) (w watch.Interface, err error) {
	err = Within(ctx, func() error {
		found, err := c.Watch(ctx, list, opts...)
		w = found
		return err
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}
