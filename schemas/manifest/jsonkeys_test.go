package manifest

import (
	"fmt"
	"testing"
)

func TestDuplicateKeyIsError(t *testing.T) {
	const once = "<nil>"
	for text, want := range map[string]string{
		`{"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": 1}], "d": "a"}`: once,
		"{\"a\": 1,\n\"a\": 2}":                    `line 2: duplicate key "a" in an object, first on line 1`,
		"{\"a\": {},\n\"b\": 1,\n\"a\": 2}":        `line 3: duplicate key "a" in an object, first on line 1`,
		"[1, {\"b\": [],\n\"c\": \"b\", \"b\":0}]": `line 2: duplicate key "b" in an object, first on line 1`,
		`{"a": 1, "\u0061": 2}`:                    `line 1: duplicate key "a" in an object, first on line 1`,
		`{"a": "x", "x": "a"}`:                     once,
		`{"a": [], "A": []}`:                       once,
		`{"a": [[{"a": null}]], "b": {}} {"a": 1}`: once,
		`"a"`:      once,
		`{"a": 1,`: once, // the decoder reports what is wrong
		`]`:        once,
		``:         once,
	} {
		if got := fmt.Sprint(UniqueKeys([]byte(text))); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
