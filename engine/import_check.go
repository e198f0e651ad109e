package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Remainder is what an object is not once it was written as HCL and compiled
// again.
type Remainder struct {
	Object string // such as "NodePool general"
	Path   string // of the field; "" where it is about the object as a whole
	Why    string
}

// String is one line.
func (r Remainder) String() string {
	if r.Path == "" {
		return r.Object + ": " + r.Why
	}
	return r.Object + ": " + r.Path + ": " + r.Why
}

// remainder compares each object with what it compiles to.
func remainder(validator *kube.Validator, originals []original, compiled Compiled) ([]Remainder, error) {
	resources := map[string]config.Object{}
	for _, r := range compiled.Resources {
		resources[kube.Key(r.Manifest)] = r
	}
	var rest []Remainder
	for _, o := range originals {
		id := kube.Key(o.authored)
		r, ok := resources[id]
		if !ok {
			rest = append(rest, Remainder{Object: id, Why: "its block does not compile"})
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
	slices.SortStableFunc(rest, func(a, b Remainder) int {
		return cmp.Or(strings.Compare(a.Object, b.Object), strings.Compare(a.Path, b.Path))
	})
	return slices.Compact(rest), nil
}

// compare looks at one object twice: made anew, which finds what is not
// written, and as an apply would leave the one that is there, which finds what
// it changes or is refused for.
func (o original) compare(validator *kube.Validator, r config.Object) ([]Remainder, error) {
	rest, err := differences(o.defaulted, kube.Spelled(r.Defaulted, o.defaulted))
	if err != nil {
		return nil, err
	}
	live := runtime.DeepCopyJSON(o.live)
	live["apiVersion"] = r.Manifest["apiVersion"]
	if live, err = validator.Defaulted(live); err != nil {
		return nil, err
	}
	predicted, conflicts, err := validator.Predict(live, r.Manifest)
	if err != nil {
		return nil, err
	}
	changed, err := differences(live, predicted)
	if err != nil {
		return nil, err
	}
	rest = append(rest, changed...)
	for _, c := range conflicts {
		rest = append(rest, Remainder{Path: strings.TrimPrefix(c.Field, "."), Why: fmt.Sprintf("%q has set it in another form, which an apply would be in conflict with", c.Owner)})
	}
	before, err := templateHash(live)
	if err != nil {
		return nil, err
	}
	if after, err := templateHash(predicted); err != nil || before != after {
		rest = append(rest, Remainder{Why: "its hash changes, so its nodes would be replaced"})
	}
	return rest, nil
}

// differences lists the fields in which two states of an object differ.
func differences(before, after map[string]any) (rest []Remainder, err error) {
	state := func(obj map[string]any) plan.State {
		return plan.State{Objects: []config.Object{{Manifest: obj, Defaulted: obj}}}
	}
	p, err := plan.Diff(state(before), state(after))
	if err != nil {
		return nil, err
	}
	for _, c := range p.Changes {
		for _, f := range c.Fields {
			rest = append(rest, Remainder{Path: f.Path, Why: fmt.Sprintf("%s, and from the HCL %s", said(f.Before), said(f.After))})
		}
	}
	return rest, nil
}

// said writes a value so that what looks alike can be told apart.
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

// templateHash is the digest by which nodes are found to have drifted; "" for
// objects that no nodes are made from.
func templateHash(obj map[string]any) (string, error) {
	var typed interface{ Hash() string }
	switch kindOf(obj) {
	case "NodePool":
		typed = &karpv1.NodePool{}
	case "LinodeNodeClass":
		typed = &linodev1alpha1.LinodeNodeClass{}
	default:
		return "", nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
		return "", err
	}
	return typed.Hash(), nil
}
