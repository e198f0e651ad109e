package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config"
)

// conditions are expressions that both syntaxes can contain as they are, and a part of their error; "" for none.
var conditions = map[string]string{
	"var.no || true":                       "var.no is null",
	"true && var.no":                       "var.no is null",
	"false || var.no":                      "var.no is null",
	"!var.no":                              "var.no is null",
	"!(var.yes && var.no)":                 "var.no is null",
	"1 / var.zero > 1":                     "division by zero",
	"1 / (var.zero * 2) > 1 || false":      "division by zero",
	"alltrue([for n in [0] : 1 / n > 1])":  "division by zero",
	"1 % var.zero == 0":                    "division by zero",
	"try(var.no && true, true)":            "",
	"false && var.no || var.yes":           "",
	"var.yes || var.no":                    "",
	"1 / (var.zero + 2) < 1 && 5 % 3 == 2": "",
}

// places are files with a condition for @, which is on a line of its own.
var places = map[string]struct{ native, json string }{
	"an argument": {`
pool "a" {
  node_class = node_class.default
  enabled    = (
    @)
}`, `{"pool": {"a": {"node_class": "${node_class.default}", "enabled":
"${@}"}}}`},
	"text": {`
node_class "a" {
  tags = ["a",
  "is ${@}"]
}`, `{"node_class": {"a": {"tags": ["a",
"is ${@}"]}}}`},
	"a directive": {`
node_class "a" {
  tags = [
  "%{if @}a%{else}b%{endif}"]
}`, `{"node_class": {"a": {"tags": [
"%{if @}a%{else}b%{endif}"]}}}`},
	"an object in a list": {`
locals {
  a = [[], { b = { c = (
    @) } }]
}
node_class "a" {
  tags = [jsonencode(local.a)]
}`, `{"locals": {"a": [[], {"b": {"c":
"${@}"}}]}, "node_class": {"a": {"tags": ["${jsonencode(local.a)}"]}}}`},
	"a part of a key": {`
pool "a" {
  node_class = node_class.default
  labels = {
    "e.com/${@}" = "x"
  }
}`, `{"pool": {"a": {"node_class": "${node_class.default}", "labels": {
"e.com/${@}": "x"}}}}`},
	"a key": {`
locals {
  a = [{
    (@) = 1
  }]
}
node_class "a" {
  tags = [jsonencode(local.a)]
}`, `{"locals": {"a": [{
"${@}": 1}]}, "node_class": {"a": {"tags": ["${jsonencode(local.a)}"]}}}`},
	"a module": {`
module "m" {
  source = "./m"
  a = (
    @)
}`, `{"module": {"m": {"source": "./m", "a":
"${@}"}}}`},
	"elements of a repeated block": {`
pool "a" {
  node_class = node_class.default
  disruption {
    consolidate_after = "5m"
    dynamic "budget" {
      iterator = each_budget
      for_each = ["a",
        "${@}"]
      content {
        nodes   = 1
        reasons = [each_budget.value == "a" ? "Empty" : "Drifted"]
      }
    }
  }
}`, `{"pool": {"a": {"node_class": "${node_class.default}", "disruption": {"consolidate_after": "5m", "dynamic": {"budget": {"iterator": "each_budget",
"for_each": ["a",
"${@}"],
"content": {"nodes": 1, "reasons": ["${each_budget.value == \"a\" ? \"Empty\" : \"Drifted\"}"]}}}}}}}`},
	"content of a repeated block": {`
pool "a" {
  node_class = node_class.default
  disruption {
    consolidate_after = "5m"
    dynamic "budget" {
      for_each = ["Empty"]
      content {
        nodes   = 1
        reasons = [
          "${@}" == "true" ? budget.value : "Drifted"]
      }
    }
  }
}`, `{"pool": {"a": {"node_class": "${node_class.default}", "disruption": {"consolidate_after": "5m", "dynamic": {"budget": {"for_each": ["Empty"],
"content": {"nodes": 1, "reasons": [
"${\"${@}\" == \"true\" ? budget.value : \"Drifted\"}"]}}}}}}}`},
	"guards": {`
guards {
  allow_empty = (
    @)
}`, `{"guards": {"allow_empty":
"${@}"}}`},
	"a check": {`
check "a" {
  assert {
    condition     = (
      var.yes && (@))
    error_message = "no"
  }
}`, `{"check": {"a": {"assert": {"condition":
"${var.yes && (@)}",
"error_message": "no"}}}}`},
	"a message": {`
check "a" {
  assert {
    condition     = !var.yes
    error_message = (
      "not ${@}")
  }
}`, `{"check": {"a": {"assert": {"condition": "${!var.yes}", "error_message":
"not ${@}"}}}}`},
	"a validation": {`
variable "a" {
  default = true
  validation {
    condition     = (
      var.a && (@))
    error_message = "no"
  }
}
node_class "a" {
  tags = ["x${var.a}"]
}`, `{"variable": {"a": {"default": true, "validation": {"condition":
"${var.a && (@)}",
"error_message": "no"}}}, "node_class": {"a": {"tags": ["x${var.a}"]}}}`},
	"a policy": {`
policy "a" {
  condition     = (
    (@) == (plan.nodes.deleted == 0))
  error_message = "no"
}`, `{"policy": {"a": {"condition":
"${(@) == (plan.nodes.deleted == 0)}",
"error_message": "no"}}}`},
}

// TestJSONIsAsStrictAsNativeSyntax compiles each condition in each place, in native syntax and in JSON. The results and errors
// are the same, and errors are at the line of the condition.
func TestJSONIsAsStrictAsNativeSyntax(t *testing.T) {
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			for condition, want := range conditions {
				native := results(t, "main.lke.hcl", place.native+"\n", condition)
				if want != "" && !strings.Contains(strings.Join(native, "\n"), want) {
					t.Errorf("%s: %q in native syntax, want %q", condition, native, want)
				}
				if diff := cmp.Diff(native, results(t, "main.lke.json", place.json, condition)); diff != "" {
					t.Errorf("%s: JSON (+) differs: %s", condition, diff)
				}
			}
		})
	}
}

// results compiles a file and returns its errors, or what it declares.
func results(t *testing.T, name, text, condition string) (all []string) {
	text = strings.ReplaceAll(text, "@", condition)
	compiled, diags, _ := compile(fstest.MapFS{
		name: {Data: []byte(text)},
		"base.lke.hcl": {Data: []byte(cluster + `
variable "no" {
  default = null
  type    = bool
}
variable "yes" {
  default = true
}
variable "zero" {
  default = 0
}
node_class "default" {}
`)},
		"m/m.lke.hcl": {Data: []byte("variable \"a\" {}\nnode_class \"m\" {\n  tags = [\"x${var.a}\"]\n}\n")},
	}, config.Options{})
	for _, d := range diags {
		all = append(all, d.Summary+": "+d.Detail)
		if d.Summary == "Check failed" || d.Summary == "Invalid value for variable" {
			continue
		}
		if d.Subject == nil || d.Subject.Filename != name ||
			!strings.Contains(strings.Split(text, "\n")[d.Subject.Start.Line-1], condition) {
			t.Errorf("%s in %s: not at the line of the condition: %v", condition, name, d)
		}
	}
	if len(diags) > 0 {
		return all
	}
	for _, o := range compiled.Objects {
		all = append(all, fmt.Sprint(o.Addr, o.Manifest))
	}
	return append(all, fmt.Sprint(compiled.Guards.AllowEmpty, len(compiled.Policies)))
}

// TestPolicyInJSON: an operation of a policy that has no result for a change is an error, which the change cannot pass.
func TestPolicyInJSON(t *testing.T) {
	for condition, want := range map[string]string{
		"1 / plan.nodes.deleted > 0":                              "division by zero",
		"alltrue([for n in [plan.nodes.deleted] : 4 / n > 2])":    "division by zero",
		"plan.nodes.deleted == 0 && plan.cost.ceiling == null":    "",
		"plan.nodes.deleted == 0 && plan.cost.ceiling < 9":        "plan.cost.ceiling is null",
		"plan.nodes.deleted == 0 || one([plan.cost.ceiling]) > 1": "",
	} {
		for name, text := range map[string]string{
			"main.lke.hcl":  "policy \"p\" {\n  condition = " + condition + "\n  error_message = \"no\"\n}\n",
			"main.lke.json": `{"policy": {"p": {"condition": "${` + condition + `}", "error_message": "no"}}}`,
		} {
			compiled, diags, _ := compile(fstest.MapFS{name: {Data: []byte(text)}, "c.lke.hcl": {Data: []byte(cluster)}}, config.Options{})
			if diags.HasErrors() {
				t.Errorf("%s in %s: %v", condition, name, diags)
				continue
			}
			decided, diags := compiled.Policies[0].Evaluate(noChange(), nil)
			if !decided || diags.HasErrors() != (want != "") || !strings.Contains(diags.Error(), want) {
				t.Errorf("%s in %s: decided %v, %v; want %q", condition, name, decided, diags, want)
			}
		}
	}
}

// noChange is a plan that changes nothing and has no maximum of costs.
func noChange() cty.Value {
	groups := map[string]cty.Value{"simulate": config.Unsimulated()}
	for group, ty := range config.Type().AttributeTypes() {
		if group != "simulate" {
			values := map[string]cty.Value{}
			for name := range ty.AttributeTypes() {
				values[name] = cty.Zero
			}
			if group == "cost" {
				values["ceiling"] = cty.NullVal(cty.Number)
			}
			groups[group] = cty.ObjectVal(values)
		}
	}
	return cty.ObjectVal(groups)
}

// TestSecretsInJSON: no part of a value in JSON can refer to a secret, where native syntax cannot.
func TestSecretsInJSON(t *testing.T) {
	for _, annotations := range []string{
		`"${var.token}"`, `{"a": "${var.token}"}`, `{"e.com/${var.token}": "x"}`, `"${{a = var.token}}"`,
	} {
		files := fstest.MapFS{"c.lke.hcl": {Data: []byte(cluster)}, "main.lke.json": {Data: []byte(
			`{"variable": {"token": {}}, "node_class": {"a": {}}, "pool": {"a": {"node_class": "${node_class.a}", "labels": ` + annotations + `}}}`)}}
		compiled, diags, _ := compile(files, config.Options{Vars: []config.Var{{Name: "token", Value: "hunter2", Secret: true}}})
		if !slices.ContainsFunc(diags.Errs(), func(err error) bool { return strings.Contains(err.Error(), "comes from a Secret") }) ||
			strings.Contains(fmt.Sprint(diags, compiled.Objects), "hunter2") {
			t.Errorf("%s: %v", annotations, diags)
		}
	}
}
