package function

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// affixFunc asks about the beginning or the end of text.
func affixFunc(has func(text, affix string) bool) function.Function {
	return returning(cty.Bool, func(args []cty.Value) (cty.Value, error) {
		return cty.BoolVal(has(args[0].AsString(), args[1].AsString())), nil
	}, function.Parameter{Name: "text", Type: cty.String}, function.Parameter{Name: "affix", Type: cty.String})
}

// fileFunc returns the function file. Without a reader, no file is there.
func fileFunc(read func(path string) (string, error)) function.Function {
	return returning(cty.String, func(args []cty.Value) (cty.Value, error) {
		if read == nil {
			return cty.NilVal, function.NewArgErrorf(0, "there are no files here")
		}
		text, err := read(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.StringVal(text), nil
	}, function.Parameter{Name: "path", Type: cty.String})
}
