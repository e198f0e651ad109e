// Package follow reads lists of objects from a cluster, and keeps them up to date: by
// watching, or where the user may not watch, by listing again and again.
//
// It changes nothing, and asks for nothing but get, list and watch. What the objects are
// for, it does not know.
package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Follower follows one cluster. It is safe for concurrent use.
type Follower struct {
	// Patience is how long Read waits for an API server that says nothing.
	Patience time.Duration

	client client.WithWatch
	every  time.Duration // between lists, where there is no watch
	kinds  []*known

	mu      sync.Mutex
	changed bool
}

// Kind is one kind of objects, or some of them.
type Kind struct {
	Name   string // in the plural
	List   func() client.ObjectList
	Opts   []client.ListOption
	Needed bool // without it there is nothing to show
}

// known is what is known of a kind.
type known struct {
	Kind
	objects  map[types.UID]client.Object
	problem  string // why they cannot be read; "" where they can
	unlisted bool   // the cluster has the kind, and does not list it
}

// New returns a Follower of the cluster of a client configuration, which lists as often
// as it is told where it may not watch. The kinds must be in the scheme of client-go.
func New(cfg *rest.Config, every time.Duration, kinds ...Kind) (*Follower, error) {
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server at %s: %w", cfg.Host, err)
	}
	return With(c, every, kinds...), nil
}

// With returns a Follower that reads by a client.
func With(c client.WithWatch, every time.Duration, kinds ...Kind) *Follower {
	f := &Follower{Patience: time.Minute, client: c, every: every}
	for _, k := range kinds {
		f.kinds = append(f.kinds, &known{Kind: k})
	}
	return f
}

// Read reads all kinds once. What cannot be read and is not needed is noted.
func (f *Follower) Read(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.Patience, errSilent)
	defer cancel()
	errs := make([]error, len(f.kinds))
	var wait sync.WaitGroup
	for i, k := range f.kinds {
		wait.Go(func() { _, errs[i] = f.read(ctx, k) })
	}
	wait.Wait()
	for i, k := range f.kinds {
		switch err := errs[i]; {
		case err == nil, explained(err) && !k.Needed:
		case !explained(err) && context.Cause(ctx) == errSilent:
			return fmt.Errorf("list the %s: the API server has not answered for %s", k.Name, f.Patience)
		default:
			return fmt.Errorf("list the %s: %w", k.Name, err)
		}
	}
	return nil
}

// errSilent ends lists that nobody answers.
var errSilent = errors.New("the API server does not answer")

// explained reports whether an error is one that a note tells, and that asking again does
// not change.
func explained(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// Follow keeps what Read has read up to date until ctx ends.
func (f *Follower) Follow(ctx context.Context) {
	var wait sync.WaitGroup
	for _, k := range f.kinds {
		wait.Go(func() { f.follow(ctx, k) })
	}
	wait.Wait()
}

func (f *Follower) follow(ctx context.Context, k *known) {
	for ctx.Err() == nil {
		version, err := f.read(ctx, k)
		if err == nil {
			err = f.watch(ctx, k, version)
		}
		if errors.Is(err, errAgain) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(f.every):
		}
	}
}

// read lists a kind, from the API server's cache, and returns the version that it has.
func (f *Follower) read(ctx context.Context, k *known) (version string, err error) {
	list := k.List()
	opts := append(slices.Clone(k.Opts), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	if err := f.client.List(ctx, list, opts...); err != nil {
		f.note(ctx, k, err)
		return "", err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return "", err
	}
	objects := make(map[types.UID]client.Object, len(items))
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			objects[obj.GetUID()] = obj
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	k.objects, k.problem, k.unlisted, f.changed = objects, "", false, true
	return list.GetResourceVersion(), nil
}

// note tells why a kind cannot be read.
func (f *Follower) note(ctx context.Context, k *known, err error) {
	if ctx.Err() != nil {
		return
	}
	problem := fmt.Sprintf("%s are as they were: %v", k.Name, err)
	unlisted := apierrors.IsForbidden(err) || apierrors.IsNotFound(err) // where it knows no such kind, there are none
	switch {
	case apierrors.IsForbidden(err):
		problem = k.Name + " cannot be shown: the user may not list them."
	case apierrors.IsNotFound(err):
		problem = k.Name + " cannot be shown: the API server has no list of them."
	case meta.IsNoMatchError(err):
		problem = k.Name + " cannot be shown: the cluster does not know them."
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = f.changed || k.problem != problem
	k.problem, k.unlisted = problem, unlisted
}

// errAgain says that a watch has ended as watches do, and that it is time to list.
var errAgain = errors.New("the watch has ended")

// watch takes over changes until it ends. Where watching is forbidden, it does at once.
func (f *Follower) watch(ctx context.Context, k *known, version string) error {
	opts := append(slices.Clone(k.Opts), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	began := time.Now()
	w, err := f.client.Watch(ctx, k.List(), opts...)
	if err != nil {
		return err
	}
	defer w.Stop()
	for f.next(ctx, k, w) {
	}
	if time.Since(began) < time.Second {
		return nil // no haste
	}
	return errAgain
}

// next takes over one change, and reports whether there may be more.
func (f *Follower) next(ctx context.Context, k *known, w watch.Interface) bool {
	select {
	case <-ctx.Done():
		return false
	case event := <-w.ResultChan():
		obj, ok := event.Object.(client.Object)
		if event.Type == watch.Error || !ok {
			return false
		}
		f.take(k, event.Type, obj)
		return true
	}
}

func (f *Follower) take(k *known, event watch.EventType, obj client.Object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = true
	if event == watch.Deleted {
		delete(k.objects, obj.GetUID())
		return
	}
	k.objects[obj.GetUID()] = obj
}

// Objects returns what is known, in no order, what cannot be read, each a sentence, and
// whether it has changed since the last call. The objects are shared and must not be
// changed.
func (f *Follower) Objects() (objects []client.Object, notes []string, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.kinds {
		if k.problem != "" {
			notes = append(notes, k.problem)
		}
		objects = slices.AppendSeq(objects, maps.Values(k.objects))
	}
	changed, f.changed = f.changed, false
	return objects, notes, changed
}

// Unlisted are the kinds of which the cluster gave no list, though it has them: nothing
// follows from there being none among Objects.
func (f *Follower) Unlisted() (kinds []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.kinds {
		if k.unlisted {
			kinds = append(kinds, k.Name)
		}
	}
	return kinds
}
