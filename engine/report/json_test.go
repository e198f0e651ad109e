package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaFile is where the schema is published.
const schemaFile = "../../schemas/plan.schema.json"

// TestPublishedSchema holds the published schema to the types. With -update, or
// by make generate, it is written anew.
func TestPublishedSchema(t *testing.T) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(Schema()); err != nil {
		t.Fatal(err)
	}
	golden(t, schemaFile, b.String())
}

// validator checks against the published schema, or one of its definitions.
func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	s, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// variety are plans of all sorts.
func variety() []Report {
	reports := []Report{rich(), offline(), fleet(40, "x"), {}, several()}
	for _, text := range hostileTexts {
		reports = append(reports, hostile(text), hostileParts(text))
	}
	return reports
}

func TestJSONKeepsItsSchema(t *testing.T) {
	s := validator(t)
	for _, r := range variety() {
		text := written(t, "json", r, Options{})
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// TestSchemaRefusesWhatItDoesNotName: a validator that lets everything through
// would prove nothing.
func TestSchemaRefusesWhatItDoesNotName(t *testing.T) {
	s := validator(t)
	for _, change := range [][2]string{
		{`"applyable"`, `"applicable"`}, {`"effect": "roll"`, `"effect": "rolls"`}, {`"ceiling_after": "4608.00"`, `"ceiling_after": 4608`}, {`"line": 31`, `"line": "31"`},
	} {
		text := written(t, "json", rich(), Options{})
		changed := strings.Replace(text, change[0], change[1], 1)
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(changed))
		if err != nil || changed == text {
			t.Fatalf("%s: %v", change[0], err)
		}
		if s.Validate(v) == nil {
			t.Errorf("%s in place of %s is let through", change[1], change[0])
		}
	}
}

// TestJSONIsOneOfTerraform reads a plan as programs do that know Terraform's.
func TestJSONIsOneOfTerraform(t *testing.T) {
	type resource struct {
		Address string `json:"address"`
		Mode    string `json:"mode"`
		Type    string `json:"type"`
		Change  struct {
			Actions []string       `json:"actions"`
			After   map[string]any `json:"after"`
		} `json:"change"`
	}
	var doc struct {
		Changes []resource `json:"resource_changes"`
		Drift   []resource `json:"resource_drift"`
	}
	if err := json.NewDecoder(strings.NewReader(written(t, "json", rich(), Options{}))).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, c := range doc.Changes {
		got[c.Type+"."+strings.TrimPrefix(c.Address, c.Type+".")] = c.Change.Actions
	}
	want := map[string][]string{
		"node_class.default": {"update"}, "pool.batch": {"delete"}, "pool.general": {"update"}, "pool.gpu": {"create"}, "pool.jobs": {"no-op"}, "pool.spare": {"forget"},
		"overlay.dear": {"update"}, "pool.web": {"no-op"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	drift := map[string]any{"spec": map[string]any{
		"limits": map[string]any{"memory": "1Ti"}, "template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"example.com/team": "ops"}}},
	}}
	if len(doc.Drift) != 1 {
		t.Fatalf("%d objects have drifted", len(doc.Drift))
	}
	if diff := cmp.Diff(drift, doc.Drift[0].Change.After); diff != "" {
		t.Errorf("drift (-want +got)\n%s", diff)
	}
}

// TestJSONHoldsNoControlCharacters, which would steer the terminal that it is
// printed to, and has the same content.
func TestJSONHoldsNoControlCharacters(t *testing.T) {
	text := "\u009b31m\u202e\x7f\U000e0041\u2028é"
	got := written(t, "json", Report{Digest: text}, Options{})
	if bytes.ContainsAny([]byte(got), "\u009b\u202e\x7f\U000e0041\u2028") || !strings.Contains(got, "é") {
		t.Errorf("%q", got)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(got), &v); err != nil {
		t.Fatal(err)
	}
	if v["plan_digest"] != text {
		t.Errorf("it does not say %q: %s", text, got)
	}
}
