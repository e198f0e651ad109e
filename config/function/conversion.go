package function

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"go.yaml.in/yaml/v3"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// toFunc converts to a type, whose element type can be open.
func toFunc(ty cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			v, err := convert.Convert(args[0], ty)
			if err != nil {
				return cty.DynamicPseudoType, function.NewArgError(0, err)
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, result cty.Type) (cty.Value, error) {
			return convert.Convert(args[0], result)
		},
	})
}

// decoding checks text before it is decoded. The library decodes the text once to determine the
// type and again for the value, so the type is left open until the value is known.
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

// maxDepth is the maximum nesting of data: deeper data would overflow the stack of the decoder.
const maxDepth = 100

var errTooDeep = errors.New("the text is nested too deeply")

// checkJSON rejects deep nesting and duplicate keys. The decoder reports other errors.
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

// checkYAML rejects duplicate keys, and anchors and aliases: forty lines of them can stand for more
// data than there is memory. It uses a parser, because the same characters have no meaning in
// quotes and comments.
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
		return fmt.Errorf("line %d has the anchor &%s; anchors and aliases are not supported: write the value itself", n.Line,
			n.Anchor)
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d has the alias *%s; anchors and aliases are not supported: write the value itself", n.Line,
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

// repeatedKey returns a duplicate key of a mapping. Keys such as 1 and "1" are duplicates, because
// they are the same attribute of the object.
func repeatedKey(mapping *yaml.Node) error {
	first := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		var value any
		if key.Kind != yaml.ScalarNode || key.Decode(&value) != nil {
			continue // not a key of an object, which the decoder reports
		}
		name := fmt.Sprint(value)
		if line, twice := first[name]; twice {
			return fmt.Errorf("line %d: duplicate key %q in a mapping, first on line %d", key.Line, name, line)
		}
		first[name] = key.Line
	}
	return nil
}
