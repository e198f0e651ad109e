package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// taker is the cluster as TakeOver needs it; kube.Cluster is one.
type taker interface {
	Get(ctx context.Context, like map[string]any) (map[string]any, error)
	TakeOver(ctx context.Context, live map[string]any, t kube.Takeover) error
}

// Taken is an object whose fields lkeplan has taken over.
type Taken struct {
	Key    manifest.Key
	From   []string // the previous field managers
	Owners []kube.Owner
}

// TakeOver makes lkeplan the only owner of the fields that Run has applied to the objects that import blocks name, and
// reports each object that had other owners. It changes no value, because the values are those of the targets.
func TakeOver(ctx context.Context, to taker, head compile.Result, targets []compare.Target, report func(Taken)) error {
	named := map[config.Addr]bool{}
	for _, i := range head.Imports {
		named[i.Addr] = true
	}
	imported := map[manifest.Key]bool{}
	for _, o := range head.Objects {
		imported[o.Key()] = named[o.Addr]
	}
	validator := kube.BuiltinValidator()
	for _, t := range targets {
		if !imported[manifest.KeyOf(t.Desired)] {
			continue
		}
		taken, err := takeOver(ctx, to, validator, t.Desired)
		if err != nil {
			return err
		}
		if len(taken.From) > 0 {
			report(taken)
		}
	}
	return nil
}

// takeOver takes one object over. Controllers write to objects at any time, so it is read again after a conflict.
func takeOver(ctx context.Context, to taker, validator *kube.Validator, desired map[string]any) (Taken, error) {
	const attempts = 5
	key := manifest.KeyOf(desired)
	for attempt := 1; ; attempt++ {
		live, err := to.Get(ctx, desired)
		if err != nil {
			return Taken{}, err
		}
		if live == nil {
			return Taken{}, fmt.Errorf("take over %s: it was deleted after it was applied", key)
		}
		t, err := validator.Takeover(live, desired)
		if err != nil {
			return Taken{}, fmt.Errorf("take over %s: %w", key, err)
		}
		if !t.Needed() {
			return Taken{}, nil
		}
		err = to.TakeOver(ctx, live, t)
		if err == nil {
			return Taken{Key: key, From: t.From, Owners: kube.Owners(live)}, nil
		}
		if !errors.Is(err, kube.ErrChanged) || attempt == attempts {
			return Taken{}, err
		}
	}
}
