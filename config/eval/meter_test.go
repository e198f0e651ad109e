package eval_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/lkeplan/lkeplan/config/configtest"
	"github.com/lkeplan/lkeplan/config/eval"
)

var (
	text   = cty.StringVal
	number = cty.NumberIntVal
	tuple  = func(v ...cty.Value) cty.Value { return cty.TupleVal(v) }
	object = cty.ObjectVal
)

// TestConvert compares Convert with the library's function: values, and whether there is an error.
func TestConvert(t *testing.T) {
	optional := cty.ObjectWithOptionalAttrs(map[string]cty.Type{"a": cty.Number, "b": cty.List(cty.String)},
		[]string{"b"})
	tests := []struct {
		v  cty.Value
		ty cty.Type
	}{
		{text("1"), cty.Number},
		{text("x"), cty.Number},
		{number(1), cty.String},
		{cty.NullVal(cty.DynamicPseudoType), cty.List(cty.String)},
		{cty.DynamicVal, cty.Map(cty.String)},
		{cty.EmptyTupleVal, cty.List(cty.String)},
		{cty.EmptyTupleVal, cty.Set(cty.String)},
		{cty.EmptyObjectVal, cty.Map(cty.String)},
		{tuple(number(1), text("a"), cty.True), cty.List(cty.String)},
		{tuple(number(1), text("1"), text("2")), cty.Set(cty.String)},
		{tuple(number(1), text("a")), cty.List(cty.Number)},
		{tuple(number(1), text("a")), cty.List(cty.DynamicPseudoType)},
		{tuple(number(1), tuple()), cty.List(cty.DynamicPseudoType)},
		{tuple(text("a"), cty.NullVal(cty.DynamicPseudoType)), cty.List(cty.String)},
		{tuple(text("a"), cty.DynamicVal), cty.List(cty.String)},
		{tuple(tuple(number(1)), tuple(text("a"), text("b"))), cty.List(cty.List(cty.String))},
		{cty.ListVal([]cty.Value{number(1)}), cty.Set(cty.String)},
		{cty.SetVal([]cty.Value{number(1)}), cty.List(cty.String)},
		{object(map[string]cty.Value{"a": number(1), "b": text("x")}), cty.Map(cty.String)},
		{object(map[string]cty.Value{"a": number(1), "b": tuple()}), cty.Map(cty.String)},
		{object(map[string]cty.Value{"a": number(1), "b": text("x")}), cty.Map(cty.DynamicPseudoType)},
		{cty.MapVal(map[string]cty.Value{"a": number(1)}), cty.Map(cty.String)},
		{object(map[string]cty.Value{"a": text("1"), "c": text("x")}), optional},
		{object(map[string]cty.Value{"a": text("1"), "b": tuple(number(1))}), optional},
		{object(map[string]cty.Value{"b": tuple(number(1))}), optional},
		{object(map[string]cty.Value{"x": object(map[string]cty.Value{"a": text("1")}),
			"y": object(map[string]cty.Value{"a": number(2), "b": tuple()})}), cty.Map(optional)},
		{text("x"), cty.List(cty.String)},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%#v to %s", tt.v, tt.ty.FriendlyNameForConstraint()), func(t *testing.T) {
			want, wantErr := convert.Convert(tt.v, tt.ty)
			got, err := eval.ConvertMetered(tt.v, tt.ty)
			switch {
			case (err != nil) != (wantErr != nil):
				t.Errorf("error %v, want %v", err, wantErr)
			case err == nil && !got.RawEquals(want):
				t.Errorf("got %#v, want %#v", got, want)
			}
		})
	}
}

// TestConvertIsLinear converts a value that takes the library a minute.
func TestConvertIsLinear(t *testing.T) {
	var elements []cty.Value
	for range 50_000 {
		elements = append(elements, text("a"))
	}
	configtest.Within(t, 5*time.Second, func() {
		if _, err := eval.ConvertMetered(cty.TupleVal(elements), cty.List(cty.String)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestConvertRefuses(t *testing.T) {
	if _, err := eval.ConvertMetered(text("1e1000000"), cty.Number); err == nil {
		t.Error("a number that takes a second to print")
	}
	var elements []cty.Value
	for i := range 2000 {
		elements = append(elements, []cty.Value{text("a"), number(1)}[i%2])
	}
	if _, err := eval.ConvertMetered(cty.TupleVal(elements), cty.List(cty.DynamicPseudoType)); err == nil {
		t.Error("two thousand elements of different types")
	}
}

func TestSize(t *testing.T) {
	tests := []struct {
		v    cty.Value
		want int
	}{
		{cty.True, 1},
		{text("abcdefgh"), 3},
		{cty.NullVal(cty.String), 1},
		{cty.DynamicVal, 1},
		{tuple(text("a"), tuple(number(1))), 4},
		{object(map[string]cty.Value{"a": number(1)}), 2},
	}
	for _, tt := range tests {
		if got := eval.SizeOf(tt.v); got != tt.want {
			t.Errorf("%#v: got %d, want %d", tt.v, got, tt.want)
		}
	}
}

// TestSizeStops measures a value that contains its parts so often that it has more elements than
// there are atoms in the universe.
func TestSizeStops(t *testing.T) {
	v := tuple(text("a"))
	for range 300 {
		v = cty.TupleVal([]cty.Value{v, v})
	}
	if got := eval.SizeOf(v); got <= eval.MaxSize {
		t.Errorf("got %d", got)
	}
}

func TestFunction(t *testing.T) {
	m := eval.NewMeter()
	join := m.Function(stdlib.JoinFunc, nil)
	got, err := join.Call([]cty.Value{text(","), tuple(text("a"), number(1))})
	if err != nil || !got.RawEquals(text("a,1")) {
		t.Errorf("got %#v, %v", got, err)
	}
	if _, err := join.Call([]cty.Value{text(","), number(1)}); err == nil {
		t.Error("a number is joined")
	}
	if got, err := join.Call([]cty.Value{text(","), cty.DynamicVal}); err != nil || got.IsKnown() {
		t.Errorf("an unknown argument: %#v, %v", got, err)
	}
}
