package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// remainder compares each object with what it compiles to.
func remainder(validator *kube.Validator, originals []original, compiled compile.Result) ([]Difference, error) {
	compiledAs := map[manifest.Key]config.Object{}
	for _, r := range compiled.Objects {
		compiledAs[r.Key()] = r
	}
	var rest []Difference
	for _, o := range originals {
		key := manifest.KeyOf(o.authored)
		id := key.String()
		r, ok := compiledAs[key]
		if !ok {
			rest = append(rest, Difference{Object: id, Why: "its block does not compile"})
			continue
		}
		found, err := o.compare(validator, r)
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", id, err)
		}
		for _, f := range found {
			f.Object = id
			rest = append(rest, f)
		}
	}
	slices.SortStableFunc(rest, func(a, b Difference) int {
		return cmp.Or(strings.Compare(a.Object, b.Object), strings.Compare(a.Path, b.Path))
	})
	return slices.Compact(rest), nil
}

// compare compares one object twice: as it would be created, which finds what is
// not written, and as an apply would leave the live one, which finds what that
// changes or is refused for.
func (o original) compare(validator *kube.Validator, r config.Object) ([]Difference, error) {
	rest, err := differences(marked(o.defaulted, r), kube.Spelled(r.Defaulted, o.defaulted))
	if err != nil {
		return nil, err
	}
	live := marked(o.live, r)
	live["apiVersion"] = r.Manifest["apiVersion"]
	if live, err = validator.Defaulted(live); err != nil {
		return nil, err
	}
	predicted, conflicts, err := validator.Predict(live, kube.Spelled(r.Manifest, live))
	if err != nil {
		return nil, err
	}
	changed, err := differences(live, predicted)
	if err != nil {
		return nil, err
	}
	rest = append(rest, changed...)
	for _, c := range conflicts {
		rest = append(rest, Difference{
			Path: strings.TrimPrefix(c.Field, "."),
			Why:  fmt.Sprintf("%q has set it in another form, which an apply would be in conflict with", c.Owner),
		})
	}
	before, err := plan.TemplateHash(live)
	if err != nil {
		return nil, err
	}
	if after, err := plan.TemplateHash(predicted); err != nil || before != after {
		rest = append(rest, Difference{Why: "its hash changes, so its nodes would be replaced"})
	}
	return rest, nil
}

// marked is a copy of an object with what its class compiles with of its cluster: it is written by
// lkeplan, as the inventory label is.
func marked(obj map[string]any, r config.Object) map[string]any {
	obj = runtime.DeepCopyJSON(obj)
	for _, key := range schemas.OfCluster() {
		if value, ok := manifest.Map(r.Manifest, "metadata", "annotations")[key]; ok {
			manifest.Ensure(obj, "metadata", "annotations")[key] = value
		}
	}
	return obj
}

// Difference is one field in which two states of an object differ.
type Difference struct {
	Object string // such as "NodePool general"
	Path   string // of the field; "" where it is about the object as a whole
	Why    string
}

// String is one line.
func (d Difference) String() string {
	if d.Path == "" {
		return d.Object + ": " + d.Why
	}
	return d.Object + ": " + d.Path + ": " + d.Why
}

// differences lists the fields in which two states of an object differ. It
// leaves Object to the caller.
func differences(before, after map[string]any) (rest []Difference, err error) {
	state := func(obj map[string]any) plan.State {
		return plan.State{Objects: []config.Object{{Manifest: obj, Defaulted: obj}}}
	}
	p, err := plan.Diff(state(before), state(after))
	if err != nil {
		return nil, err
	}
	for _, c := range p.Changes {
		for _, f := range c.Fields {
			rest = append(rest,
				Difference{Path: f.Path, Why: fmt.Sprintf("%s, and from the HCL %s", said(f.Before), said(f.After))})
		}
	}
	return rest, nil
}

// said writes a value so that a number and the same text differ.
func said(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.QuoteToASCII(v)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
