package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// taker is the cluster as TakeOver needs it; kube.Cluster is one.
type taker interface {
	List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error)
	TakeOver(ctx context.Context, live map[string]any, t kube.Takeover) error
	Apply(ctx context.Context, desired, before map[string]any) (kube.Outcome, error)
}

// Taken is one object whose fields belong to lkeplan.
type Taken struct {
	Kind, Name string
	From       []string // the previous field managers; none if lkeplan was the owner
	Owners     []kube.Owner
}

// ErrNotTheSame is returned for objects that differ from the configuration: an
// apply would change them, so they are not taken over.
var ErrNotTheSame = errors.New("the configuration and the objects differ")

// TakeOver makes lkeplan own, in the cluster, the fields that the configuration
// sets of the objects that its import blocks name, and reports each. If an object
// does not exist, or an apply would change one, nothing is taken over, as far as
// that can be known in advance.
func TakeOver(ctx context.Context, head compile.Result, cluster taker, report func(Taken)) error {
	if len(head.Imports) == 0 {
		return errors.New("there is no import block; only objects with one are taken over")
	}
	validator := kube.BuiltinValidator()
	resources, err := imported(head)
	if err != nil {
		return err
	}
	lives, err := livesOf(ctx, cluster, resources)
	if err != nil {
		return err
	}
	for i, r := range resources { // objects that were already taken over have the label
		if manifest.Label(lives[i], kube.InventoryLabel) == head.Owner() &&
			manifest.Text(lives[i], "metadata", "annotations", kube.OriginAnnotation) == head.Origin() {
			resources[i].Manifest = head.Labelled(r.Manifest)
		}
	}
	takeovers, err := takeoversOf(validator, resources, lives)
	if err != nil {
		return err
	}
	for i, r := range resources {
		taken := Taken{Kind: r.Kind(), Name: r.Name(), From: takeovers[i].From, Owners: kube.Owners(lives[i])}
		if err := takeOne(ctx, cluster, validator, r, lives[i], takeovers[i]); err != nil {
			return err
		}
		// Only the inventory label is left to change.
		if _, err := cluster.Apply(ctx, kube.Spelled(head.Labelled(r.Manifest), lives[i]), lives[i]); err != nil {
			return err
		}
		report(taken)
	}
	return nil
}

// takeOne takes one object over. Controllers write to objects at any time, so
// it is read again after a conflict.
func takeOne(ctx context.Context, cluster taker, validator *kube.Validator, r config.Object, live map[string]any,
	t kube.Takeover) error {
	const tries = 5
	for try := 1; ; try++ {
		if !t.Needed() {
			return nil
		}
		err := cluster.TakeOver(ctx, live, t)
		if !errors.Is(err, kube.ErrChanged) || try == tries {
			return err
		}
		lives, err := livesOf(ctx, cluster, []config.Object{r})
		if err != nil {
			return err
		}
		takeovers, err := takeoversOf(validator, []config.Object{r}, lives)
		if err != nil {
			return err
		}
		live, t = lives[0], takeovers[0]
	}
}

// imported returns the resources that import blocks are about.
func imported(head compile.Result) (resources []config.Object, err error) {
	byAddr := map[config.Addr]config.Object{}
	for _, r := range head.Objects {
		byAddr[r.Addr] = r
	}
	for _, i := range head.Imports {
		r, ok := byAddr[i.Addr]
		if !ok {
			return nil, fmt.Errorf("%s is not in the configuration", i.Addr)
		}
		resources = append(resources, r)
	}
	return resources, nil
}

func livesOf(ctx context.Context, cluster taker, resources []config.Object) ([]map[string]any, error) {
	live := map[manifest.Key]map[string]any{}
	asked := map[schemas.Object]bool{}
	lives := make([]map[string]any, len(resources))
	var missing []string
	for i, r := range resources {
		kind := schemas.Object{APIVersion: r.APIVersion(), Kind: r.Kind()}
		if !asked[kind] {
			asked[kind] = true
			objects, err := cluster.List(ctx, kind.APIVersion, kind.Kind)
			if err != nil {
				return nil, err
			}
			for _, obj := range objects {
				live[manifest.KeyOf(obj)] = obj
			}
		}
		if lives[i] = live[r.Key()]; lives[i] == nil {
			missing = append(missing, r.Key().String())
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("not in the cluster: %s; remove their import blocks", strings.Join(missing, ", "))
	}
	return lives, nil
}

// takeoversOf computes which fields change their owner, and refuses if values would change.
func takeoversOf(validator *kube.Validator, resources []config.Object,
	lives []map[string]any) ([]kube.Takeover, error) {
	takeovers := make([]kube.Takeover, len(resources))
	var lines []string
	for i, r := range resources {
		predicted, _, err := validator.Predict(lives[i], kube.Spelled(r.Manifest, lives[i]))
		if err != nil {
			return nil, err
		}
		fields, err := differences(lives[i], predicted)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			f.Object = r.Addr.String()
			lines = append(lines, "  "+f.String())
		}
		if len(fields) > 0 {
			continue
		}
		if takeovers[i], err = validator.Takeover(lives[i], r.Manifest); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Addr, err)
		}
	}
	if len(lines) > 0 {
		return nil, fmt.Errorf("%w, so nothing was taken over:\n%s\nmake them equal first; lkeplan diff --base live "+
			"shows both", ErrNotTheSame, strings.Join(lines, "\n"))
	}
	return takeovers, nil
}
