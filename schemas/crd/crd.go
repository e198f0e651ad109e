// Package crd contains the CustomResourceDefinitions that lkeplan needs in a cluster, as the YAML
// files that `kubectl apply -f schemas/crd/` installs: those of the linked version of Karpenter,
// LinodeNodeClass, and those of lkeplan. The files are embedded. The package knows no cluster and
// no HCL.
package crd

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:generate go run ./generate

//go:embed *.yaml
var files embed.FS

// All returns the CRDs sorted by file name. Each call returns new copies.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := Files()
	if err != nil {
		return nil, err
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(all[name], crd); err != nil {
			return nil, fmt.Errorf("read CRD %s: %w", name, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// Files returns the YAML of the CRDs by file name.
func Files() (map[string][]byte, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	all := make(map[string][]byte, len(names))
	for _, name := range names {
		if all[name], err = files.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}
