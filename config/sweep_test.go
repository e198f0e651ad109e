package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/lkeplan/lkeplan/testdata/golden"
)

// swept lists the places that decide about objects, or about what a change can do to them. %s
// stands for a value.
var swept = []struct{ name, src string }{
	{"pool.enabled", pool("enabled = %s")},
	{"pool.for_each", pool("for_each = %s\n  labels = { v = jsonencode(each.value) }")},
	{"pool.name", pool("name = %s")},
	{"pool.node_class", "pool \"p\" {\n  node_class = %s\n}\n"},
	{"pool.requirements", pool("requirements = %s")},
	{"pool.requirements element", pool("requirements = { cpu = %s }")},
	{"pool.limits", pool("limits = %s")},
	{"pool.limits element", pool("limits = { cpu = %s }")},
	{"pool.labels", pool("labels = %s")},
	{"pool.labels element", pool("labels = { team = %s }")},
	{"pool.taints", pool("taints = %s")},
	{"pool.taints element", pool("taints = [%s]")},
	{"pool.weight", pool("weight = %s")},
	{"pool.replicas", pool("replicas = %s")},
	{"pool.expire_after", pool("expire_after = %s")},
	{"pool.manifest", pool("manifest = %s")},
	{"disruption.policy", pool("disruption {\n    consolidate_after = \"1h\"\n    policy = %s\n  }")},
	{"disruption.consolidate_after", pool("disruption {\n    consolidate_after = %s\n  }")},
	{"budget.nodes", pool("disruption {\n    consolidate_after = \"1h\"\n    budget {\n      nodes = %s\n    }\n  }")},
	{"budget.reasons", pool("disruption {\n    consolidate_after = \"1h\"\n    budget {\n      nodes = 1\n" +
		"      reasons = %s\n    }\n  }")},
	{"dynamic.for_each", pool("disruption {\n    consolidate_after = \"1h\"\n    dynamic \"budget\" {\n" +
		"      for_each = %s\n      content {\n        nodes = jsonencode(budget.value) == \"\" ? 1 : 2\n" +
		"      }\n    }\n  }")},
	{"limits.pools", "limits \"l\" {\n  nodes = 5\n  pools = %s\n}\n"},
	{"limits.pools element", "limits \"l\" {\n  nodes = 5\n  pools = [%s]\n}\n"},
	{"limits.nodes", "limits \"l\" {\n  cpu = 5\n  nodes = %s\n}\n"},
	{"limits.monthly_cost", "limits \"l\" {\n  cpu = 5\n  monthly_cost = %s\n}\n"},
	{"module.enabled", "module \"m\" {\n  source = \"./m\"\n  enabled = %s\n}\n"},
	{"module.for_each", "module \"m\" {\n  source = \"./m\"\n  for_each = %s\n  what = each.value\n}\n"},
	{"module argument", "module \"m\" {\n  source = \"./m\"\n  on = %s\n}\n"},
	{"module argument without null", "module \"m\" {\n  source = \"./m\"\n  sure = %s\n}\n"},
	{"local", "locals {\n  l = %s\n}\n"},
	{"variable.default", "variable \"v\" {\n  default = %s\n}\n"},
	{"variable.default of a type", "variable \"v\" {\n  type = bool\n  default = %s\n}\n"},
	{"variable.default without null", "variable \"v\" {\n  nullable = false\n  default = %s\n}\n"},
	{"variable.nullable", "variable \"v\" {\n  default = 1\n  nullable = %s\n}\n"},
	{"validation.condition", "variable \"v\" {\n  default = 1\n  validation {\n    condition = var.v == 1 ? %s : true\n" +
		"    error_message = \"No.\"\n  }\n}\n"},
	{"check.condition", "check \"c\" {\n  assert {\n    condition = length(pool) >= 0 ? %s : true\n" +
		"    error_message = \"No.\"\n  }\n}\n"},
	{"check.error_message", "check \"c\" {\n  assert {\n    condition = length(pool) < 0\n" +
		"    error_message = %s\n  }\n}\n"},
	{"policy.condition", "policy \"p\" {\n  condition = plan.nodes.total >= 0 ? %s : true\n" +
		"  error_message = \"No.\"\n}\n"},
	{"removed.delete", "removed {\n  from = pool.gone\n  delete = %s\n}\n"},
	{"removed.id", "removed {\n  from = pool.gone\n  id = %s\n}\n"},
	{"import.id", "import {\n  to = pool.other\n  id = %s\n}\n"},
	{"guards.protected", "guards {\n  protected = %s\n}\n"},
	{"guards.protected element", "guards {\n  protected = [%s]\n}\n"},
	{"guards.max_deleted_pools", "guards {\n  max_deleted_pools = %s\n}\n"},
	{"guards.max_deleted_nodes", "guards {\n  max_deleted_nodes = %s\n}\n"},
	{"guards.max_rolled_nodes", "guards {\n  max_rolled_nodes = %s\n}\n"},
	{"guards.allow_empty", "guards {\n  allow_empty = %s\n}\n"},
	{"window.schedule", "guards {\n  window \"w\" {\n    duration = \"1h\"\n    schedule = %s\n  }\n}\n"},
	{"window.duration", "guards {\n  window \"w\" {\n    schedule = \"0 0 * * *\"\n    duration = %s\n  }\n}\n"},
	{"freeze.schedule", "guards {\n  freeze \"f\" {\n    duration = \"1h\"\n    schedule = %s\n  }\n}\n"},
	{"freeze.duration", "guards {\n  freeze \"f\" {\n    schedule = \"0 0 * * *\"\n    duration = %s\n  }\n}\n"},
}

// pool returns a pool with one more argument or block.
func pool(more string) string {
	return "pool \"p\" {\n  node_class = node_class.default\n  " + more + "\n}\n"
}

// sweeping lists absent and empty values.
var sweeping = []string{"null", "tobool(null)", "tostring(null)", "toset(null)", "tomap(null)", "yamldecode(\"a:\").a",
	"\"\"", "[]", "{}", "toset([])", "toset([null])", "unknown()", "[unknown()]", "{ a = unknown() }"}

// takesNothing lists the places in which an empty value creates no objects, as documented.
var takesNothing = map[string]bool{"pool.for_each": true, "module.for_each": true}

const sweptBase = `cluster {
  name   = "dev"
  region = "us-ord"
}
node_class "default" {}
pool "other" {
  node_class = node_class.default
}
`

// inBase is the number of objects in sweptBase.
const inBase = 2

const sweptModule = `node_class "m" {
  metadata {
    labels = { v = jsonencode(var.what) }
  }
}
variable "what" {
  default = 1
}
variable "on" {
  type    = bool
  default = true
}
variable "sure" {
  type     = bool
  default  = true
  nullable = false
}
`

// TestNullEmptyAndUnknownValues puts null, empty and unknown values into each place that makes a
// decision. Each is an error, or has the meaning in the golden file. None drops objects, and an
// unknown value is always an error.
func TestNullEmptyAndUnknownValues(t *testing.T) {
	t.Parallel()
	var table bytes.Buffer
	for _, place := range swept {
		compiled, _, before := sweep(t, place.name, "nothing", withoutLine(place.src))
		objects := len(compiled.Objects)
		outcomes, order := map[string][]string{}, []string{}
		fmt.Fprintf(&table, "%s\n", place.name)
		for _, value := range sweeping {
			src := strings.Replace(place.src, "%s", value, 1)
			compiled, diags, text := sweep(t, place.name, value, src)
			outcome := "taken"
			switch {
			case diags.HasErrors():
				outcome = "error: " + diags[0].Summary
			case strings.Contains(value, "unknown"):
				t.Errorf("%s = %s: what is not known is taken", place.name, value)
			case text == before:
				outcome = "as if left out"
			}
			switch {
			case diags.HasErrors():
			case takesNothing[place.name] && len(compiled.Objects) == inBase:
				outcome = "makes nothing"
			case len(compiled.Objects) < objects:
				t.Errorf("%s = %s: %d of %d objects are left", place.name, value, len(compiled.Objects), objects)
			}
			if outcomes[outcome] == nil {
				order = append(order, outcome)
			}
			outcomes[outcome] = append(outcomes[outcome], value)
		}
		for _, outcome := range order {
			fmt.Fprintf(&table, "  %s\n    %s\n", outcome, strings.Join(outcomes[outcome], " · "))
		}
	}
	golden.File(t, "testdata/nothing.txt", table.Bytes())
}

// withoutLine removes the line with the value.
func withoutLine(src string) string {
	var lines []string
	for line := range strings.Lines(src) {
		if !strings.Contains(line, "%s") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// aPlan is a plan without unknown values.
func aPlan() cty.Value {
	return ones(Type())
}

// ones returns a value of a type in which each number is 1.
func ones(of cty.Type) cty.Value {
	if of == cty.Number {
		return cty.NumberIntVal(1)
	}
	values := map[string]cty.Value{}
	for name, ty := range of.AttributeTypes() {
		values[name] = ones(ty)
	}
	return cty.ObjectVal(values)
}

// sweep compiles a document with a function whose result is unknown. It returns the result as text.
func sweep(t *testing.T, place, value, src string) (Compiled, hcl.Diagnostics, string) {
	t.Helper()
	files := fstest.MapFS{
		"base.lke.hcl":     {Data: []byte(sweptBase)},
		"main.lke.hcl":     {Data: []byte(src)},
		"m/module.lke.hcl": {Data: []byte(sweptModule)},
	}
	module, diags := Load(files, Options{})
	if diags.HasErrors() {
		t.Fatalf("%s with %s: %v", place, value, diags)
	}
	c := module.compiler()
	c.functions["unknown"] = function.New(&function.Spec{
		Type: function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.DynamicVal, nil },
	})
	compiled, diags := c.compile()
	for _, policy := range compiled.Policies {
		if diags.HasErrors() {
			break
		}
		decided, policyDiags := policy.Evaluate(aPlan(), nil)
		if diags = append(diags, policyDiags...); !decided {
			t.Errorf("%s with %s: the policy is not decided", place, value)
		}
	}
	raw, err := json.Marshal(compiled)
	if err != nil {
		t.Fatal(err)
	}
	return compiled, diags, string(raw)
}
