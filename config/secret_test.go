package config_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
)

// TestValuesFromSecrets: values from Secrets can decide, but never appear in objects or messages.
func TestValuesFromSecrets(t *testing.T) {
	const secret = "hunter2"
	const begin = `cluster {
  name   = "dev"
  region = "us-ord"
}
variable "token" {
  type = string
}
variable "plain" {
  default = "x"
}
locals {
  indirect = "${upper(var.token)}!"
  all      = { token = var.token, name = "n" }
}
node_class "default" {}
`
	pool := func(more string) string {
		return "pool \"web\" {\n  node_class = node_class.default\n  requirements = { cpu = 4 }\n  limits = { cpu = 10 }\n" +
			more + "\n}\n"
	}
	validated := func(condition, message string) string {
		return "variable \"more\" {\n  default = \"x\"\n  validation {\n    condition     = " + condition +
			"\n    error_message = " + message + "\n  }\n}\n"
	}
	for name, tt := range map[string]struct {
		text string
		want string // part of the error; "" for none
	}{
		"a condition":               {validated(`var.token != var.more`, `"no"`), ""},
		"a check":                   {"check \"a\" {\n  assert {\n    condition     = length(local.indirect) > 3\n    error_message = \"no\"\n  }\n}\n", ""},
		"a label":                   {pool(`labels = { a = var.token }`), "var.token comes from a Secret"},
		"a label, by a local":       {pool(`labels = { a = local.indirect }`), "local.indirect comes from a Secret"},
		"a part of a local":         {pool(`labels = { a = local.all.token }`), "local.all comes from a Secret"},
		"all locals":                {pool(`labels = { a = jsonencode(local) }`), "local comes from a Secret"},
		"a decision about objects":  {pool(`enabled = var.token == "x"`), "var.token comes from a Secret"},
		"names":                     {pool(`for_each = toset([var.token])`), "var.token comes from a Secret"},
		"a manifest":                {pool(`manifest = { spec = { template = { metadata = { labels = { a = var.token } } } } }`), "var.token comes from a Secret"},
		"a dynamic block":           {pool("dynamic \"taint\" {\n for_each = [var.token]\n content {\n key = taint.value\n effect = \"NoSchedule\"\n }\n }"), "var.token comes from a Secret"},
		"a guard":                   {"guards {\n  protected = [var.token]\n}\n", "var.token comes from a Secret"},
		"a message":                 {validated(`var.token == "no"`, `"not ${var.token}"`), "var.token comes from a Secret"},
		"a condition that is false": {validated(`var.token == var.more`, `"They differ."`), "They differ."},
		"an error that has it":      {"locals {\n  n = parseint(var.token, 10)\n}\n", "is not shown"},
		"a module":                  {"module \"m\" {\n  source = \"./m\"\n  name   = local.indirect\n}\n", "var.name comes from a Secret"},
		"what is next to it":        {pool(`labels = { a = var.plain }`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"main.lke.hcl": {Data: []byte(begin + tt.text)},
				"m/m.lke.hcl":  {Data: []byte("variable \"name\" {}\nnode_class \"m\" {\n  tags = [var.name]\n}\n")},
			}
			module, diags := config.Load(files, config.Options{Vars: []config.Var{{Name: "token", Value: secret, Secret: true}}})
			compiled, more := module.Compile()
			diags = append(diags, more...)
			var shown strings.Builder
			for _, d := range diag.New(diags, module.Files) {
				shown.WriteString(d.Summary + ": " + d.Detail)
				if d.Snippet != nil {
					shown.WriteString(d.Snippet.Line + strings.Join(d.Snippet.Values, " "))
				}
			}
			if diags.HasErrors() != (tt.want != "") || !strings.Contains(shown.String(), tt.want) {
				t.Errorf("errors: %s; want %q", shown.String(), tt.want)
			}
			if strings.Contains(strings.ToLower(shown.String()), secret) {
				t.Errorf("it is shown: %s", shown.String())
			}
			for _, o := range compiled.Objects {
				if text := strings.ToLower(o.Name() + o.Addr.String()); strings.Contains(text, secret) {
					t.Errorf("it is in an object: %s", text)
				}
			}
		})
	}
}

// TestSecretOfWrongTypeIsNotShown: the error about it does not show the value.
func TestSecretOfWrongTypeIsNotShown(t *testing.T) {
	for _, ty := range []string{"number", "list(string)", "object({ a = string })"} {
		files := fstest.MapFS{"main.lke.hcl": {Data: []byte(
			"cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nvariable \"token\" {\n  type = " + ty + "\n}\n")}}
		module, diags := config.Load(files, config.Options{Vars: []config.Var{{Name: "token", Value: "hunter2(", Secret: true}}})
		_, more := module.Compile()
		text := ""
		for _, d := range diag.New(append(diags, more...), module.Files) {
			text += d.Summary + ": " + d.Detail
			if d.Snippet != nil {
				text += d.Snippet.Line + strings.Join(d.Snippet.Values, " ")
			}
		}
		if strings.Contains(text, "hunter") || !strings.Contains(text, "The value is not shown") {
			t.Errorf("%s: %s", ty, text)
		}
	}
}
