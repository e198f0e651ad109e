package lint_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"k8s.io/apimachinery/pkg/runtime"
	clock "k8s.io/utils/clock/testing"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/lint"
)

// stricter are documents that Karpenter has nothing against and that do not
// still work, and why they are refused.
var stricter = map[string]string{
	"exists_with_values":             "the values are ignored",
	"limits_negative_by_manifest":    "no node fits",
	"annotation_key":                 "the NodeClaim is refused by the API server",
	"taint_value_with_a_prefix":      "the Node is refused by the API server",
	"node_class_of_another_provider": "the pool is ignored",
	"capacity_type_spot":             "spot is logged as wrong, and passed over",
}

// TestOwnersRefuse holds the rules about Karpenter to Karpenter: its own validation refuses
// everything that they refuse.
func TestOwnersRefuse(t *testing.T) {
	rules := map[string]bool{"bad-schedule": true, "duplicate-taint": true, "values-without-effect": true, "unknown-plan-label": true, "negative-limit": true, "capacity-type": true, "bad-label": true, "other-node-class": true}
	documents, err := filepath.Glob("../compile/testdata/bad/*.lke.hcl")
	if err != nil || len(documents) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	base, err := os.ReadFile("../compile/testdata/bad/base.lke.hcl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, path := range documents {
		name := strings.TrimSuffix(filepath.Base(path), ".lke.hcl")
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if name == "base" || strings.HasPrefix(string(src), "# only") {
			continue
		}
		files := fstest.MapFS{"base.lke.hcl": {Data: base}, "main.lke.hcl": {Data: src}}
		compiled, diags := compile.Dir(context.Background(), files, compile.Options{})
		for _, d := range diags {
			rule, _ := d.Extra.(compile.RuleName)
			if !rules[string(rule)] {
				continue
			}
			seen[string(rule)] = true
			if _, excused := stricter[name]; excused == karpenterRefuses(t, compiled) {
				t.Errorf("%s (%s): excused is %v, and so is what Karpenter refuses", name, rule, excused)
			}
			break
		}
	}
	for rule := range rules {
		if !seen[rule] {
			t.Errorf("no document is refused by %s", rule)
		}
	}
}

func karpenterRefuses(t *testing.T, compiled compile.Result) bool {
	t.Helper()
	now := clock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for _, r := range compiled.Objects {
		if r.Kind() != "NodePool" {
			continue
		}
		pool := &karpv1.NodePool{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Defaulted, pool); err != nil {
			t.Fatal(err)
		}
		if pool.RuntimeValidate(context.Background()) != nil {
			return true
		}
		if _, err := pool.GetAllowedDisruptionsByReason(now, 10, karpv1.DisruptionReasonEmpty); err != nil {
			return true
		}
	}
	return false
}

// TestRulesAreExplained: each rule says what it finds, why that matters and
// what to do, in sentences.
func TestRulesAreExplained(t *testing.T) {
	names := map[string]bool{}
	for _, rule := range lint.Rules() {
		if names[rule.Name] {
			t.Errorf("%s: there are two", rule.Name)
		}
		names[rule.Name] = true
		for _, text := range []string{rule.What, rule.Why, rule.Do} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: not a sentence: %q", rule.Name, text)
			}
		}
		if rule.Title == "" || strings.ContainsAny(rule.Title, ".:") {
			t.Errorf("%s: not a summary: %q", rule.Name, rule.Title)
		}
		if _, diags := hclsyntax.ParseConfig([]byte(rule.Example), rule.Name, hcl.InitialPos); diags.HasErrors() {
			t.Errorf("%s: %v", rule.Name, diags)
		}
		if string(hclwrite.Format([]byte(rule.Example))) != rule.Example {
			t.Errorf("%s: the example is not formatted", rule.Name)
		}
		if found, ok := lint.Lookup(rule.Name); !ok || found.Title != rule.Title {
			t.Errorf("%s is not found", rule.Name)
		}
	}
	page, err := os.ReadFile("rules.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count("\n"+string(page), "\n## "); n != len(names) {
		t.Errorf("rules.md has %d sections for %d rules", n, len(names))
	}
}
