package config_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lkeplan/lkeplan/config"
)

// TestRingsAreInTheOrderOfTheirBlocks: not in that of their names, in HCL and in JSON.
func TestRingsAreInTheOrderOfTheirBlocks(t *testing.T) {
	want := []config.Ring{
		{Name: "wide", Clusters: []string{"dev"}, Soak: 30 * time.Minute},
		{Name: "early", Clusters: []string{"eu-1", "us-1"}},
		{Name: "a", Clusters: []string{"eu-2"}},
	}
	for name, rings := range map[string]string{
		"rings.lke.hcl": `rings {
			ring "wide" {
				clusters = ["dev"]
				soak     = "30m"
			}
			ring "early" {
				clusters = ["us-1", "eu-1"]
			}
			ring "a" {
				clusters = [for c in ["eu-2"] : c]
			}
		}`,
		"rings.lke.json": `{"rings": {"ring": {"wide": {"clusters": ["dev"], "soak": "30m"},
			"early": {"clusters": ["us-1", "eu-1"]}, "a": {"clusters": ["eu-2"]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			compiled, diags, _ := compile(fstest.MapFS{
				"a.lke.hcl": {Data: []byte("cluster {\n  name = \"eu-1\"\n  region = \"us-ord\"\n}\n" +
					"module \"rings\" {\n  source = \"./shared\"\n}\n")},
				"shared/" + name: {Data: []byte(rings)},
			}, config.Options{})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if diff := cmp.Diff(want, compiled.Rings, cmpopts.IgnoreFields(config.Ring{}, "Range")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
