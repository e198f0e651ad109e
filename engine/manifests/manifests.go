// Package manifests reads Kubernetes objects from files, as kubectl reads them, and from directories of
// repositories, in which most files are something else: it reports which files it ignores, and which of those may
// have objects.
//
// It knows no kinds of objects except those that its caller asks for.
package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// maxSize is the largest file that is read, in bytes.
const maxSize = 16 << 20

// An Object is one manifest and its place.
type Object struct {
	File     string
	Document int            // number of the document in the file, from 1; 0 if unknown
	Fields   map[string]any // as decoded JSON; whole numbers are int64
	Listed   bool           // its file was found in a directory, not named by the user
}

// Place returns the file and the document of the object.
func (o Object) Place() string {
	if o.Document > 0 {
		return fmt.Sprintf("%s: document %d", o.File, o.Document)
	}
	return o.File
}

// Read reads the objects of a file that is meant for kubectl: YAML or JSON, several documents, and lists. A
// document that is not an object is an error.
func Read(file string, r io.Reader) (objects []Object, err error) {
	raw, err := readBounded(r)
	if err != nil {
		return nil, err
	}
	err = eachDocument(raw, func(n int, _ []byte, found []map[string]any, err error) error {
		for _, fields := range found {
			objects = append(objects, Object{File: file, Document: n, Fields: fields})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return objects, nil
}

// readBounded reads a whole file up to maxSize.
func readBounded(r io.Reader) ([]byte, error) {
	all, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err == nil && len(all) > maxSize {
		return all[:maxSize], fmt.Errorf("more than %d MiB", maxSize>>20)
	}
	return all, err
}

// eachDocument calls see for each document of a file with its text, the objects in it, and its error. It ends with the
// first error that see returns, or with an error of the file as a whole.
func eachDocument(raw []byte, see func(n int, text []byte, found []map[string]any, err error) error) error {
	all, err := schemas.UTF8(raw)
	if err != nil {
		return err
	}
	all = bytes.ReplaceAll(all, []byte("\r\n"), []byte("\n"))
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(all)))
	begun := 0 // offset of the document
	for n := 1; ; n++ {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		begun += max(0, bytes.Index(all[begun:], text))
		found, problem := objectsIn(text)
		switch {
		case problem == nil, errors.Is(problem, errNoObject):
		case bytes.Contains(text, []byte("{{")):
			problem = errTemplate
		default:
			problem = errors.New(withFileLines(problem, bytes.Count(all[:begun], []byte("\n"))))
		}
		if problem != nil {
			problem = fmt.Errorf("document %d: %w", n, problem)
		}
		begun = min(begun+len(text), len(all))
		if err := see(n, text, found, problem); err != nil {
			return err
		}
	}
}

// withFileLines returns the text of an error of a document with line numbers of the file. before is the number of lines
// before the document.
func withFileLines(err error, before int) string {
	return inLine.ReplaceAllStringFunc(err.Error(), func(text string) string {
		n, _ := strconv.Atoi(inLine.FindStringSubmatch(text)[1])
		return fmt.Sprintf("not valid YAML: line %d", before+n)
	})
}

var inLine = regexp.MustCompile(`\byaml: line ([0-9]+)`)

var (
	errNoObject = errors.New("this is not a Kubernetes object with a kind and a name")
	errTemplate = errors.New(`this looks like a Helm template: render it with "helm template"`)
)

// objectsIn reads one document: an object, a list of them, or nothing.
func objectsIn(text []byte) ([]map[string]any, error) {
	raw, err := toJSON(text)
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
	list := []map[string]any{obj}
	if items, isList := obj["items"].([]any); isList {
		list = nil
		for i, item := range items {
			inner, _ := item.(map[string]any)
			if !isObject(inner) {
				return nil, fmt.Errorf("item %d of the list: %w", i+1, errNoObject)
			}
			list = append(list, inner)
		}
	} else if !isObject(obj) {
		return nil, errNoObject
	}
	if slices.ContainsFunc(list, isTemplate) {
		return nil, errTemplate
	}
	return list, nil
}

// toJSON converts YAML to JSON as kubectl does, but rejects a key that is given twice. A key that overrides one of
// a merge (<<) is given only once, which the strict reader does not know.
func toJSON(text []byte) ([]byte, error) {
	raw, err := sigsyaml.YAMLToJSONStrict(text)
	if err != nil && strings.Contains(err.Error(), "already set in map") && bytes.Contains(text, []byte("<<")) {
		var value any
		if yaml.Unmarshal(text, &value) == nil { // this reader accepts merges
			return sigsyaml.YAMLToJSON(text)
		}
	}
	return raw, err
}

func isObject(object map[string]any) bool {
	return manifest.Kind(object) != "" && (manifest.Name(object) != "" || GenerateName(object) != "")
}

// GenerateName returns the prefix of the name of an object whose name is still to be generated.
func GenerateName(object map[string]any) string {
	return manifest.Text(object, "metadata", "generateName")
}

// isTemplate reports whether a parsed document is a template that happens to be valid YAML.
func isTemplate(object map[string]any) bool {
	return strings.Contains(manifest.Kind(object)+manifest.Name(object)+manifest.Namespace(object), "{{")
}
