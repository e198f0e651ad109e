package function

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"go.yaml.in/yaml/v3"

	"github.com/lkeplan/lkeplan/config/meter"
)

// toFunc converts to a type, of which the elements may be left open.
func toFunc(ty cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			v, err := meter.Convert(args[0], ty)
			if err != nil {
				return cty.DynamicPseudoType, function.NewArgError(0, err)
			}
			return v.Type(), nil
		},
		Impl: func(args []cty.Value, result cty.Type) (cty.Value, error) {
			return meter.Convert(args[0], result)
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

// checkJSON refuses what nests too deeply. What else is wrong with the text, its
// decoder says.
func checkJSON(text string) error {
	tokens := json.NewDecoder(strings.NewReader(text))
	for depth := 0; ; {
		token, err := tokens.Token()
		if err != nil {
			return nil
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

// checkYAML refuses text that takes little room and much time: forty lines of
// anchors and aliases can stand for more data than there is memory. A parser
// finds them, as the same signs mean nothing in quotes and in comments.
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
	return nil
}
