package migrate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// maxManifests bounds what is read from one file, in bytes.
const maxManifests = 16 << 20

// ReadFiles reads the objects that can be imported from files, from the files of
// directories, and for "-" from standard input. Others are the kinds of objects
// that were passed over, sorted.
func ReadFiles(from []string, stdin io.Reader) (objects []map[string]any, others []string, err error) {
	kinds := map[string]bool{}
	for _, name := range manifestFiles(from) {
		found, err := readFile(name, stdin)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, files.Cause(err))
		}
		for _, object := range found {
			if _, importable := targetOf(object); importable {
				objects = append(objects, object)
			} else {
				kinds[manifest.Kind(object)] = true
			}
		}
	}
	return objects, slices.Sorted(maps.Keys(kinds)), nil
}

// manifestFiles lists the files of directories in place of these.
func manifestFiles(from []string) (names []string) {
	for _, name := range from {
		entries, err := os.ReadDir(name)
		if err != nil || name == "-" {
			names = append(names, name) // a file; or it is missing, and opening it says so
			continue
		}
		for _, entry := range entries {
			if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) && !entry.IsDir() {
				names = append(names, filepath.Join(name, entry.Name()))
			}
		}
	}
	return names
}

func readFile(name string, stdin io.Reader) ([]map[string]any, error) {
	if name == "-" {
		return ReadManifests(stdin)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return ReadManifests(file)
}

// ReadManifests reads objects as people write them for kubectl: YAML or JSON,
// several documents, and lists. Whole numbers become int64.
func ReadManifests(r io.Reader) (objects []map[string]any, err error) {
	found, err := ReadDocuments(r)
	for _, m := range found {
		objects = append(objects, m.Fields)
	}
	return objects, err
}

// Manifest is an object, and in which document of its file it stands, from 1 on.
type Manifest struct {
	Document int
	Fields   map[string]any
}

// ReadDocuments is ReadManifests for those who say where an object stands.
func ReadDocuments(r io.Reader) (objects []Manifest, err error) {
	all, err := io.ReadAll(io.LimitReader(r, maxManifests+1))
	if err != nil {
		return nil, err
	}
	if len(all) > maxManifests {
		return nil, fmt.Errorf("more than %d MiB", maxManifests>>20)
	}
	all = bytes.ReplaceAll(all, []byte("\r\n"), []byte("\n"))
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(all)))
	begun := 0 // where the document stands
	for n := 1; ; n++ {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		begun += max(0, bytes.Index(all[begun:], text))
		found, err := manifestsIn(text)
		if err != nil {
			return nil, fmt.Errorf("document %d: %s", n, placed(err, bytes.Count(all[:begun], []byte("\n"))))
		}
		begun = min(begun+len(text), len(all))
		for _, fields := range found {
			objects = append(objects, Manifest{n, fields})
		}
	}
}

// placed is the text of an error of a document before which a file has so many lines, with the
// line of the file.
func placed(err error, before int) string {
	return inLine.ReplaceAllStringFunc(err.Error(), func(text string) string {
		n, _ := strconv.Atoi(inLine.FindStringSubmatch(text)[1])
		return fmt.Sprintf("line %d", before+n)
	})
}

var inLine = regexp.MustCompile(`\byaml: line ([0-9]+)`)

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
		for i, item := range items {
			inner, _ := item.(map[string]any)
			if !isObject(inner) {
				return nil, fmt.Errorf("item %d of the list is no Kubernetes object with a kind and a name", i+1)
			}
			list = append(list, inner)
		}
		return list, nil
	}
	if !isObject(obj) {
		return nil, errors.New("this is no Kubernetes object with a kind and a name")
	}
	return []map[string]any{obj}, nil
}

func isObject(object map[string]any) bool {
	return manifest.Kind(object) != "" && manifest.Name(object) != ""
}
