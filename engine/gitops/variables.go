package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/nodeplan"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// ReadVariables returns a function for a Worker that reads the variables of a NodePlan: those in
// ConfigMaps and Secrets, in order, and those in the spec, which override them.
func ReadVariables(reader client.Reader) func(context.Context, *lkeplanv1alpha1.NodePlan) (Variables, error) {
	return func(ctx context.Context, np *lkeplanv1alpha1.NodePlan) (Variables, error) {
		values := map[string]config.Var{}
		var v Variables
		for _, from := range np.Spec.VariablesFrom {
			read, err := readFrom(ctx, reader, np.Namespace, from)
			if err != nil {
				return v, err
			}
			secret := from.Kind == "Secret"
			for name, value := range read {
				values[name] = config.Var{Name: name, Value: value, Secret: secret}
			}
			if secret {
				v.Secrets = append(v.Secrets, slices.Collect(maps.Values(read))...)
			}
		}
		for name, raw := range np.Spec.Variables {
			values[name] = config.Var{Name: name, Value: nodeplan.Text(raw.Raw)}
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			v.Vars = append(v.Vars, values[name])
		}
		return v, nil
	}
}

func readFrom(
	ctx context.Context, reader client.Reader, namespace string, from lkeplanv1alpha1.VariablesReference,
) (map[string]string, error) {
	at := client.ObjectKey{Namespace: namespace, Name: from.Name}
	values := map[string]string{}
	var err error
	if from.Kind == "Secret" {
		var secret corev1.Secret
		err = reader.Get(ctx, at, &secret)
		for name, value := range secret.Data {
			values[name] = string(value)
		}
	} else {
		var source corev1.ConfigMap
		err = reader.Get(ctx, at, &source)
		values = source.Data
	}
	if from.Optional && apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read variables from %s %s: %w", from.Kind, at, err)
	}
	return values, nil
}
