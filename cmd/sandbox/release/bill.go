package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// bill writes the bill of materials of a program, in SPDX: the modules that Go has linked,
// as the program itself says.
func (r *release) bill(program, name string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read what %s is made of: %w", program, err)
	}
	type reference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	type component struct {
		Name       string      `json:"name"`
		ID         string      `json:"SPDXID"`
		Version    string      `json:"versionInfo"`
		Download   string      `json:"downloadLocation"`
		Analyzed   bool        `json:"filesAnalyzed"`
		References []reference `json:"externalRefs"`
	}
	type relation struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
	var components []component
	relations := []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-0"}}
	add := func(path, version string) {
		id := fmt.Sprintf("SPDXRef-%d", len(components))
		if len(components) > 0 {
			relations = append(relations, relation{"SPDXRef-0", "DEPENDS_ON", id})
		}
		components = append(components, component{path, id, version, "NOASSERTION", false,
			[]reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}}})
	}
	add(info.Main.Path, "v"+r.version)
	add("stdlib", info.GoVersion)
	for _, module := range info.Deps {
		add(module.Path, cmp.Or(module.Replace, module).Version)
	}
	raw, err := json.MarshalIndent(map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": filepath.Base(program),
		"documentNamespace": "https://github.com/lkeplan/lkeplan/releases/" + r.version + "/" + name,
		"creationInfo": map[string]any{
			"created": r.made.Format(time.RFC3339), "creators": []string{"Tool: lkeplan-release"},
		},
		"packages": components, "relationships": relations,
	}, "", "  ")
	if err != nil {
		return err
	}
	_, err = r.write(name, append(raw, '\n'))
	return err
}
