package function_test

import (
	"slices"
	"testing"

	"github.com/lkeplan/lkeplan/config/function"
	"github.com/lkeplan/lkeplan/config/requirement"
)

// TestReference checks that each function is in the reference once, and that its example has a
// result.
func TestReference(t *testing.T) {
	t.Parallel()
	described, err := function.Reference()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range described {
		if slices.Contains(names, f.Name) {
			t.Errorf("%s is described twice", f.Name)
		}
		names = append(names, f.Name)
		if f.Doc == "" || f.Result == "" {
			t.Errorf("%+v", f)
		}
	}
	if table := function.Table(nil); len(names) != len(table) {
		t.Errorf("%d functions are described, and there are %d", len(names), len(table))
	}
	for name := range requirement.Functions() {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not a function of the language", name)
		}
	}
}
