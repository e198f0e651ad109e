package function

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"go.yaml.in/yaml/v3"

	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// toFunc converts to a type, of which the elements may be left open.
func toFunc(ty cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			v, err := eval.ConvertMetered(args[0], ty)
			if err != nil {
				return cty.DynamicPseudoType, function.NewArgError(0, err)
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, result cty.Type) (cty.Value, error) {
			return eval.ConvertMetered(args[0], result)
		},
	})
}

// decoding checks text before it is decoded. To find out the type of the result, the
// library decodes the text, and does so again for its value; so the type is left
// open until there is a value.
func decoding(f function.Function, check func(text string) error) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(),
		Type:   function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if err := check(args[0].AsString()); err != nil {
				return cty.NilVal, err
			}
			return f.Call(args)
		},
	})
}

// maxDepth is how deep data may nest: what nests deeply is decoded in quadratic
// time.
const maxDepth = 100

var errTooDeep = errors.New("the text nests too deeply")

// checkJSON refuses what nests too deeply, and keys that are given twice. What else is
// wrong with the text, its decoder says.
func checkJSON(text string) error {
	tokens := json.NewDecoder(strings.NewReader(text))
	for depth := 0; ; {
		token, err := tokens.Token()
		if err != nil {
			return manifest.UniqueKeys([]byte(text))
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth > maxDepth {
			return errTooDeep
		}
	}
}

// checkYAML refuses keys that are given twice, and text that takes little room and much
// time: forty lines of anchors and aliases can stand for more data than there is memory. A
// parser finds them, as the same signs mean nothing in quotes and in comments.
func checkYAML(text string) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return checkNode(&document, 0)
}

func checkNode(n *yaml.Node, depth int) error {
	switch {
	case n.Anchor != "":
		return fmt.Errorf("line %d has the anchor &%s, and anchors and aliases are not read: write the value out", n.Line,
			n.Anchor)
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d has the alias *%s, and anchors and aliases are not read: write the value out", n.Line,
			n.Value)
	case depth > maxDepth:
		return errTooDeep
	}
	for _, child := range n.Content {
		if err := checkNode(child, depth+1); err != nil {
			return err
		}
	}
	if n.Kind == yaml.MappingNode {
		return repeatedKey(n)
	}
	return nil
}

// repeatedKey finds a key that a mapping gives twice: two that are the same attribute of
// the object, as 1 and "1" are.
func repeatedKey(mapping *yaml.Node) error {
	first := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		var value any
		if key.Kind != yaml.ScalarNode || key.Decode(&value) != nil {
			continue // no key of an object, which its decoder says
		}
		name := fmt.Sprint(value)
		if line, twice := first[name]; twice {
			return fmt.Errorf("line %d: the key %q is given twice in one mapping, first on line %d", key.Line, name, line)
		}
		first[name] = key.Line
	}
	return nil
}
