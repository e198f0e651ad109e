package schemas_test

import (
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/schemas"
)

func TestWrongInstanceName(t *testing.T) {
	for name, ok := range map[string]bool{
		"prod": true, "prod-2": true, strings.Repeat("a", 34): true, strings.Repeat("a", 35): false,
		"": false, "Prod": false, "a_b": false, "a.b": false, "-a": false, "a-": false, "a--b": false,
	} {
		if got := schemas.WrongInstanceName(name) == ""; got != ok {
			t.Errorf("%q: %v, %s", name, got, schemas.WrongInstanceName(name))
		}
	}
}
