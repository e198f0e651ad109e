package schemas

import (
	"embed"
	"io/fs"
)

//go:generate go run generate.go

//go:embed crd/*.yaml
var crds embed.FS

// CRDs returns the CustomResourceDefinitions that lkeplan needs in a cluster, as the YAML files that
// `kubectl apply -f schemas/crd/` installs, sorted by name: those of the linked version of Karpenter,
// LinodeNodeClass, and those of lkeplan.
func CRDs() (files [][]byte, err error) {
	names, err := fs.Glob(crds, "crd/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		file, err := crds.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
