package config_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
)

// TestGraph checks which references are found: in nested and dynamic blocks, in JSON, to all blocks
// of a type, in arguments of modules.
func TestGraph(t *testing.T) {
	const main = `
cluster {
  name   = "dev"
  region = var.region
}
variable "region" {
  type = string
  validation {
    condition     = var.region != "" && local.strict
    error_message = "No."
  }
}
variable "hours" {}
locals {
  strict = true
  size   = { cpu = 4 }
}
node_class "default" {}
pool "web" {
  node_class   = node_class["default"]
  for_each     = local.size
  requirements = { cpu = each.value }
  disruption {
    consolidate_after = "5m"
    dynamic "budget" {
      for_each = var.hours
      content {
        nodes    = local.nodes
        schedule = budget.value
      }
    }
  }
}
module "team" {
  source = "./team"
  region = cluster.region
}
check "all" {
  assert {
    condition     = length(pool) > 0
    error_message = "None."
  }
}
`
	files := fstest.MapFS{
		"main.lke.hcl": {Data: []byte(main)},
		"more.lke.json": {Data: []byte(`{"locals": {"nodes": "${var.hours}"}, "pool": {"batch": {"node_class": ` +
			`"${node_class.default}"}}}`)},
		"team/team.lke.hcl": {Data: []byte("variable \"region\" {}\n")},
	}
	module, diags := config.Load(files, config.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var got []string
	for _, e := range module.Graph().Edges {
		got = append(got, e.From+" -> "+e.To)
	}
	want := []string{
		"check.all -> pool.batch",
		"check.all -> pool.web",
		"cluster -> var.region",
		"local.nodes -> var.hours",
		"module.team -> cluster",
		"pool.batch -> node_class.default",
		"pool.web -> local.nodes",
		"pool.web -> local.size",
		"pool.web -> node_class.default",
		"pool.web -> var.hours",
		"var.region -> local.strict",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
