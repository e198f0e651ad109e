package config_test

import (
	"fmt"
	"testing/fstest"

	"github.com/lkeplan/lkeplan/config"
)

// A directory compiles to Kubernetes objects. Each has its address and the place in the source of
// each field.
func Example() {
	files := fstest.MapFS{"main.lke.hcl": {Data: []byte(`
cluster {
  name   = "dev"
  region = "us-ord"
}

variable "team" {
  default = "web"
}

node_class "default" {}

pool "general" {
  node_class   = node_class.default
  labels       = { team = var.team }
  requirements = { cpu = between(4, 32) }
}
`)}}
	module, diags := config.Load(files, config.Options{Vars: []config.Var{{Name: "team", Value: "ml"}}})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	compiled, diags := module.Compile()
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, object := range compiled.Objects {
		fmt.Printf("%s is %s\n", object.Addr, object.Key())
	}
	pool := compiled.Objects[1]
	fmt.Println("its team is from", pool.Origins.Find("spec.template.metadata.labels.team").Range)
	// Output:
	// node_class.default is LinodeNodeClass default
	// pool.general is NodePool general
	// its team is from main.lke.hcl:15,27-35
}
