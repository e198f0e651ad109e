package nodeplan

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// Variables returns the values that a NodePlan has for variables, NAME=VALUE, sorted by name.
// Secrets are not read: a plan does not need them. Their names are returned.
func Variables(ctx context.Context, c Cluster, np *lkeplanv1alpha1.NodePlan) (vars, secrets []string, err error) {
	values := map[string]string{}
	for _, from := range np.Spec.VariablesFrom {
		if from.Kind == "Secret" {
			secrets = append(secrets, from.Name)
			continue
		}
		source := referenceTo("v1", from.Kind, types.NamespacedName{Namespace: np.Namespace, Name: from.Name})
		live, err := c.Get(ctx, source)
		if err != nil {
			return nil, nil, err
		}
		if live == nil && !from.Optional {
			return nil, nil, fmt.Errorf("there is no %s, which NodePlan %s takes variables from", manifest.KeyOf(source),
				Key(np))
		}
		for name, value := range manifest.Map(live, "data") {
			values[name] = fmt.Sprint(value)
		}
	}
	for name, raw := range np.Spec.Variables {
		values[name] = Text(raw.Raw)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		vars = append(vars, name+"="+values[name])
	}
	return vars, secrets, nil
}

// Text returns a JSON value as it is written on a command line: text without its quotes, and
// anything else as JSON, which is HCL as well.
func Text(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
