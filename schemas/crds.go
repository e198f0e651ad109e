package schemas

import (
	"embed"
	"fmt"
	"strings"
)

//go:generate go run generate.go

//go:embed crd/*.yaml
var crds embed.FS

// A CRD is a CustomResourceDefinition.
type CRD struct {
	Name string // of the object, such as nodepools.karpenter.sh
	YAML []byte
}

// CRDs returns the CustomResourceDefinitions that lkeplan needs in a cluster, as the YAML files that
// `kubectl apply -f schemas/crd/` installs, sorted by group and name: those of the linked version of
// Karpenter, LinodeNodeClass, and those of lkeplan.
func CRDs() (all []CRD) {
	files, err := crds.ReadDir("crd")
	if err != nil {
		panic(fmt.Sprintf("the built-in CRDs are broken: %v", err)) // a test reads them
	}
	for _, file := range files {
		group, plural, _ := strings.Cut(strings.TrimSuffix(file.Name(), ".yaml"), "_")
		text, err := crds.ReadFile("crd/" + file.Name())
		if err != nil {
			panic(fmt.Sprintf("the built-in CRDs are broken: %v", err))
		}
		all = append(all, CRD{plural + "." + group, text})
	}
	return all
}
