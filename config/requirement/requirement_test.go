package requirement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/schemas"
)

// parse evaluates an expression as the value of a key in requirements.
func parse(src string) (requirement.Requirement, error) {
	expr, diags := hclsyntax.ParseExpression([]byte(src), "test", hcl.InitialPos)
	if diags.HasErrors() {
		return requirement.Requirement{}, diags
	}
	v, diags := expr.Value(&hcl.EvalContext{Functions: requirement.Functions()})
	if diags.HasErrors() {
		return requirement.Requirement{}, diags
	}
	return requirement.FromValue(v)
}

func TestEncode(t *testing.T) {
	cpu := schemas.Key{Name: "cpu", Label: "cpu"}
	memory := schemas.Key{Name: "memory", Label: "memory", Unit: schemas.MiB}
	tests := []struct {
		key  schemas.Key
		src  string
		want string // entries as "operator values minimum", separated by "; "; or a part of the error
	}{
		{cpu, `4`, "In 4"},
		{cpu, `"amd64"`, "In amd64"},
		{cpu, `true`, "In true"},
		{cpu, `["b", "a", "b"]`, "In a,b"},
		{cpu, `[4, 8]`, "In 4,8"},
		{cpu, `notin("b", "a")`, "NotIn a,b"},
		{cpu, `notin(["a", "b"])`, "NotIn a,b"},
		{cpu, `exists()`, "Exists"},
		{cpu, `absent()`, "DoesNotExist"},
		{cpu, `gt(1)`, "Gt 1"},
		{cpu, `gte(1)`, "Gte 1"},
		{cpu, `lt(1)`, "Lt 1"},
		{cpu, `lte("1")`, "Lte 1"},
		{cpu, `between(4, 32)`, "Gte 4; Lte 32"},
		{cpu, `all(gte(4), notin("6"))`, "Gte 4; NotIn 6"},
		{cpu, `all("4", lt(8))`, "In 4; Lt 8"},
		{cpu, `atleast(3, notin("a"))`, "NotIn a min 3"},
		{cpu, `atleast(2, between(4, 32))`, "Gte 4 min 2; Lte 32"},
		{memory, `gte("8Gi")`, "Gte 8192"},
		{memory, `["8Gi", 1024]`, "In 1024,8192"},
		{memory, `between("1Gi", "1.5Gi")`, "Gte 1024; Lte 1536"},
		{memory, `lte("1Ti")`, "Lte 1048576"},

		{cpu, `[]`, "an empty list allows no value"},
		{cpu, `notin()`, "at least one value"},
		{cpu, `all()`, "at least one requirement"},
		{cpu, `[gte(4), lt(32)]`, "combine requirements with all"},
		{cpu, `gte("4 cores")`, `"4 cores" is not a whole number`},
		{cpu, `gte(0.5)`, `"0.5" is not a whole number`},
		{cpu, `gte(-1)`, `"-1" is not a whole number`},
		{cpu, `gte(null)`, "null cannot be compared"},
		{cpu, `gte([1])`, "text or numbers are required"},
		{cpu, `between(32, 4)`, "the minimum 32 is above the maximum 4"},
		{cpu, `all(gt(4), lt(5))`, "the minimum 5 is above the maximum 4"},
		{cpu, `atleast(0, exists())`, "from 1 to 50"},
		{memory, `gte("8 GB")`, "not an amount"},
		{memory, `gte("1k")`, "not a whole number of MiB"},
		{memory, `gte("99999999999Pi")`, "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			got, err := encode(tt.src, tt.key)
			if err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && got != tt.want {
				t.Errorf("got %q, error %v, want %q", got, err, tt.want)
			}
		})
	}
}

func encode(src string, key schemas.Key) (string, error) {
	r, err := parse(src)
	if err != nil {
		return "", err
	}
	entries, err := r.Encode(key)
	return show(entries), err
}

// TestRoundTrip converts from HCL to Kubernetes and back: the printed form means the same as the
// original.
func TestRoundTrip(t *testing.T) {
	for _, src := range []string{
		`"amd64"`, `4`, `["a", "b"]`, `notin("a", "b")`, `exists()`, `absent()`, `gt(1)`, `gte(1)`, `lt(1)`, `lte(1)`,
		`between(4, 32)`, `all(gte(4), notin(6))`, `atleast(3, notin("a"))`, `all(atleast(2, gte(4)), lte(32))`,
		`"a ${"$"}{b} \"c\""`, `"04"`,
	} {
		t.Run(src, func(t *testing.T) { roundTrip(t, src) })
	}
}

func roundTrip(t *testing.T, src string) {
	t.Helper()
	r, err := parse(src)
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(r.String())
	if err != nil {
		t.Fatalf("%s is printed as %s: %v", src, r, err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("%s is printed as %s (-want +got):\n%s", src, r, diff)
	}
	entries, err := r.Encode(schemas.Key{Label: "key"})
	if err != nil {
		return // not a valid amount in Kubernetes
	}
	decoded, err := requirement.Decode(entries)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	if diff := cmp.Diff(r, decoded["key"]); diff != "" {
		t.Errorf("%s through Kubernetes (-want +got):\n%s", src, diff)
	}
}

// FuzzRequirement checks the round trip of all requirements that the functions can create.
func FuzzRequirement(f *testing.F) {
	f.Add("In", "a", "b", int64(0))
	f.Add("Gte", "4", "", int64(2))
	f.Add("NotIn", "${x}", `"`, int64(50))
	f.Add("DoesNotExist", "", "", int64(0))
	f.Fuzz(func(t *testing.T, op, a, b string, minValues int64) {
		entry := map[string]any{"key": "key", "operator": op}
		if a != "" {
			entry["values"] = []any{a}
		}
		if a != "" && b != "" {
			entry["values"] = []any{a, b}
		}
		if minValues > 0 && minValues <= 50 {
			entry["minValues"] = minValues
		}
		decoded, err := requirement.Decode([]any{entry})
		if err != nil {
			return
		}
		roundTrip(t, decoded["key"].String())
	})
}

func show(entries []any) string {
	var terms []string
	for _, e := range entries {
		entry := e.(map[string]any)
		term := entry["operator"].(string)
		if values, ok := entry["values"].([]any); ok {
			var texts []string
			for _, v := range values {
				texts = append(texts, v.(string))
			}
			term += " " + strings.Join(texts, ",")
		}
		if n, ok := entry["minValues"]; ok {
			term += fmt.Sprintf(" min %d", n)
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, "; ")
}
