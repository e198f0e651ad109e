package schemas_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/schemas"
)

var (
	name     = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	sentence = regexp.MustCompile(`^[A-Z].*[.]$`)
)

// TestTable checks the form of the rows: names are valid in HCL and unique, and documentation is in
// sentences.
func TestTable(t *testing.T) {
	check(t, schemas.Block{Blocks: schemas.Document()}, "")
}

func check(t *testing.T, block schemas.Block, at string) {
	var names []string
	for _, arg := range block.Args {
		names = append(names, arg.Name)
		if !sentence.MatchString(arg.Doc) {
			t.Errorf("%s%s: the documentation is not a sentence: %q", at, arg.Name, arg.Doc)
		}
	}
	for _, nested := range block.Blocks {
		names = append(names, nested.Type)
		if !sentence.MatchString(nested.Doc) {
			t.Errorf("%s%s: the documentation is not a sentence: %q", at, nested.Type, nested.Doc)
		}
		check(t, nested, at+nested.Type+".")
	}
	for i, n := range names {
		if !name.MatchString(n) {
			t.Errorf("%s%s: not a valid name", at, n)
		}
		if slices.Contains(names[:i], n) {
			t.Errorf("%s%s: duplicate", at, n)
		}
	}
}

func TestKeys(t *testing.T) {
	keys := schemas.Keys()
	sorted := slices.IsSortedFunc(keys, func(a, b schemas.Key) int { return strings.Compare(a.Name, b.Name) })
	if !sorted {
		t.Error("the keys are not sorted by name")
	}
	for _, key := range keys {
		if !name.MatchString(key.Name) || !sentence.MatchString(key.Doc) {
			t.Errorf("%+v", key)
		}
	}
}
