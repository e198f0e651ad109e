package adopt

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// maxManifests bounds what is read from one file, in bytes.
const maxManifests = 16 << 20

// ReadManifests reads objects as people write them for kubectl: YAML or JSON,
// several documents, and lists. Whole numbers become int64.
func ReadManifests(r io.Reader) (objects []map[string]any, err error) {
	limited := &io.LimitedReader{R: r, N: maxManifests + 1}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(limited))
	for n := 1; ; n++ {
		text, err := documents.Read()
		if limited.N == 0 {
			return nil, fmt.Errorf("more than %d MiB", maxManifests>>20)
		}
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		found, err := manifestsIn(text)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		objects = append(objects, found...)
	}
}

// manifestsIn reads one document: an object, a list of them, or nothing.
func manifestsIn(text []byte) ([]map[string]any, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		return nil, err
	}
	if value == nil {
		return nil, nil
	}
	obj, _ := value.(map[string]any)
	if items, isList := obj["items"].([]any); isList {
		var list []map[string]any
		for _, item := range items {
			inner, _ := item.(map[string]any)
			if !named(inner) {
				return nil, errors.New("an item of the list is no Kubernetes object with a kind and a name")
			}
			list = append(list, inner)
		}
		return list, nil
	}
	if !named(obj) {
		return nil, errors.New("this is no Kubernetes object with a kind and a name")
	}
	return []map[string]any{obj}, nil
}

func named(obj map[string]any) bool {
	metadata, _ := obj["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	_, kind := obj["kind"].(string)
	return kind && name != ""
}
