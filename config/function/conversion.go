package function

import (
	"errors"
	"regexp"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/config/meter"
)

// toFunc converts to a type, of which the elements may be left open.
func toFunc(ty cty.Type) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
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

// decoding checks text before it is decoded.
func decoding(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params: f.Params(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if err := decodable(args[0]); err != nil {
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

var (
	yamlAlias = regexp.MustCompile(`(?m)(?:^|[\s\[{,])[&*][^\s,\]}]`)
	yamlDeep  = regexp.MustCompile(`(?:[-?:]\s+){100}`)
)

// decodable refuses text that takes little room and much time: forty lines of
// anchors and aliases can stand for more data than there is memory, and what
// is nested deeply is decoded in quadratic time.
func decodable(v cty.Value) error {
	if !v.IsKnown() {
		return nil
	}
	text := v.AsString()
	depth := 0
	for _, c := range []byte(text) {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > 100 {
			return errors.New("the text nests too deeply")
		}
	}
	switch {
	case yamlDeep.MatchString(text):
		return errors.New("the text nests too deeply")
	case yamlAlias.MatchString(text):
		return errors.New("anchors and aliases (&name, *name) are not read")
	}
	return nil
}
