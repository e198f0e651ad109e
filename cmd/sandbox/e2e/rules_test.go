package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const observability = "../../../kube/observability"

// TestRules runs the tests of the rules, and holds that each alert fires in one of them
// and does not in another.
func TestRules(t *testing.T) {
	groups := rules(t)
	var tests ruleSuite
	if err := yaml.UnmarshalStrict(readObservability(t, "rules_test.yaml"), &tests); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, c := range tests.Tests {
		t.Run(c.Name, func(t *testing.T) { c.run(t, groups, time.Duration(tests.Every)) })
		for _, a := range c.Alerts {
			fires[a.Name] = fires[a.Name] || len(a.Want) > 0
			silent[a.Name] = silent[a.Name] || len(a.Want) == 0
		}
	}
	for _, rule := range alerts(groups) {
		if !fires[rule.Alert] || !silent[rule.Alert] {
			t.Errorf("%s: a test in which it fires: %v, one in which it does not: %v", rule.Alert, fires[rule.Alert],
				silent[rule.Alert])
		}
	}
}

// TestRulesKnowTheirMetrics: a metric that is renamed would silence an alert.
func TestRulesKnowTheirMetrics(t *testing.T) {
	known := reference(t)
	for _, group := range rules(t).Groups {
		for _, rule := range group.Rules {
			if rule.Record != "" {
				known[rule.Record] = nil
			}
			for _, problem := range unknown(t, rule.Expr, known) {
				t.Errorf("%s%s: %s", rule.Alert, rule.Record, problem)
			}
		}
	}
}

// TestAlertsHaveRunbooks: each alert says how bad it is, and has a page that says what it
// means, what to look at and what to do; and no page is left over.
func TestAlertsHaveRunbooks(t *testing.T) {
	pages := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(observability, "runbooks", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		pages[strings.TrimSuffix(filepath.Base(path), ".md")] = true
	}
	for _, rule := range alerts(rules(t)) {
		if !pages[rule.Alert] {
			t.Errorf("%s has no page in runbooks", rule.Alert)
			continue
		}
		delete(pages, rule.Alert)
		page := string(readObservability(t, "runbooks/"+rule.Alert+".md"))
		for _, part := range []string{"# " + rule.Alert, "## What it means", "## What to check", "## What to do"} {
			if !strings.Contains("\n"+page, "\n"+part+"\n") {
				t.Errorf("runbooks/%s.md has no %q", rule.Alert, part)
			}
		}
		url := "https://github.com/lkeplan/lkeplan/blob/main/kube/observability/runbooks/" + rule.Alert + ".md"
		if says := rule.Annotations; says["runbook_url"] != url || says["summary"] == "" || says["description"] == "" {
			t.Errorf("%s has the annotations %v", rule.Alert, says)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
			t.Errorf("%s has the labels %v", rule.Alert, rule.Labels)
		}
	}
	for name := range pages {
		t.Errorf("runbooks/%s.md is about no alert", name)
	}
}

func rules(t *testing.T) *rulefmt.RuleGroups {
	t.Helper()
	groups, errs := rulefmt.Parse(readObservability(t, "rules.yaml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}))
	for _, err := range errs {
		t.Error(err)
	}
	if len(errs) > 0 {
		t.FailNow()
	}
	return groups
}

func alerts(groups *rulefmt.RuleGroups) (all []rulefmt.Rule) {
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert != "" {
				all = append(all, rule)
			}
		}
	}
	return all
}

func readObservability(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(observability, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// metricsRow is a row of metrics.md.
var metricsRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\w+) \\| (.*?) \\| ")

// reference are the metrics of metrics.md with their labels, those of histograms and
// summaries as they are served.
func reference(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	for _, match := range metricsRow.FindAllStringSubmatch(string(readObservability(t, "metrics.md")), -1) {
		of := []string{model.MetricNameLabel}
		for _, label := range strings.Split(match[3], ", ") {
			if name := strings.Trim(label, "`"); name != "none" {
				of = append(of, name)
			}
		}
		switch name := match[1]; match[2] {
		case "histogram", "summary":
			known[name+"_sum"], known[name+"_count"] = of, of
			known[name+"_bucket"], known[name] = append(slices.Clone(of), "le"), append(slices.Clone(of), "quantile")
		default:
			known[name] = of
		}
	}
	if len(known) < 50 {
		t.Fatalf("metrics.md has %d metrics", len(known))
	}
	return known
}

// unknown are the metrics of an expression that are not known, and the labels that it asks
// them for and that they do not have. Of a recorded metric no labels are known.
func unknown(t *testing.T, expr string, known map[string][]string) (problems []string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		of, there := known[selector.Name]
		if !there {
			problems = append(problems, "metrics.md has no "+selector.Name)
			return nil
		}
		for _, label := range askedFor(selector, path) {
			if of != nil && !slices.Contains(of, label) {
				problems = append(problems, selector.Name+" has no label "+label)
			}
		}
		return nil
	})
	return problems
}

// askedFor are the labels that a selector matches and that its sums are grouped by.
func askedFor(selector *parser.VectorSelector, path []parser.Node) (of []string) {
	for _, m := range selector.LabelMatchers {
		of = append(of, m.Name)
	}
	for _, node := range path {
		if sum, ok := node.(*parser.AggregateExpr); ok && !sum.Without {
			of = append(of, sum.Grouping...)
		}
	}
	return of
}
