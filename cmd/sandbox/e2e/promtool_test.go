package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
)

// ruleSuite is a file of tests for rules, in the format of promtool.
type ruleSuite struct {
	RuleFiles []string       `json:"rule_files"`
	Every     model.Duration `json:"evaluation_interval"`
	Tests     []ruleTrial    `json:"tests"`
}

type ruleTrial struct {
	Name     string         `json:"name"`
	Interval model.Duration `json:"interval"`
	Input    []struct {
		Series string `json:"series"`
		Values string `json:"values"`
	} `json:"input_series"`
	Alerts []struct {
		At   model.Duration `json:"eval_time"`
		Name string         `json:"alertname"`
		Want []struct {
			Labels map[string]string `json:"exp_labels"`
		} `json:"exp_alerts"`
	} `json:"alert_rule_test"`
	Expressions []struct {
		Expr string         `json:"expr"`
		At   model.Duration `json:"eval_time"`
		Want []struct {
			Labels string  `json:"labels"`
			Value  float64 `json:"value"`
		} `json:"exp_samples"`
	} `json:"promql_expr_test"`
}

// prometheus evaluates rules over series that a test gives it.
type prometheus struct {
	*series
	t      *testing.T
	active map[string]pendingAlert // alerts by name and labels
}

// pendingAlert is an alert whose condition holds.
type pendingAlert struct {
	labels labels.Labels
	since  time.Time
	wait   time.Duration
}

func newPrometheus(t *testing.T, c ruleTrial) *prometheus {
	p := &prometheus{series: newSeries(), t: t, active: map[string]pendingAlert{}}
	for _, in := range c.Input {
		of, values, err := p.Parser.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			t.Fatalf("%s: %v", in.Series, err)
		}
		for i, v := range values {
			if !v.Omitted {
				p.Add(of, epoch.Add(time.Duration(i)*time.Duration(c.Interval)), v.Value)
			}
		}
	}
	return p
}

// epoch is where the time of all tests begins.
var epoch = time.Unix(0, 0)

// evaluate evaluates all rules once.
func (p *prometheus) evaluate(groups *rulefmt.RuleGroups, at time.Time) {
	p.t.Helper()
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			vector := p.query(rule.Expr, at)
			if rule.Alert != "" {
				p.activate(rule, vector, at)
				continue
			}
			for _, sample := range vector {
				p.Add(labels.NewBuilder(sample.Metric).Set(model.MetricNameLabel, rule.Record).Labels(), at, sample.F)
			}
		}
	}
}

func (p *prometheus) activate(rule rulefmt.Rule, vector promql.Vector, at time.Time) {
	holds := map[string]bool{}
	for _, sample := range vector {
		b := labels.NewBuilder(sample.Metric).Del(model.MetricNameLabel).Set(model.AlertNameLabel, rule.Alert)
		for name, value := range rule.Labels {
			b.Set(name, value)
		}
		of := b.Labels()
		holds[of.String()] = true
		if _, already := p.active[of.String()]; !already {
			p.active[of.String()] = pendingAlert{of, at, time.Duration(rule.For)}
		}
	}
	maps.DeleteFunc(p.active, func(key string, a pendingAlert) bool {
		return a.labels.Get(model.AlertNameLabel) == rule.Alert && !holds[key]
	})
}

// firing are the labels of the alerts of a name that fire, without that name.
func (p *prometheus) firing(name string, at time.Time) (all []string) {
	for _, a := range p.active {
		if a.labels.Get(model.AlertNameLabel) == name && at.Sub(a.since) >= a.wait {
			all = append(all, labels.NewBuilder(a.labels).Del(model.AlertNameLabel).Labels().String())
		}
	}
	slices.Sort(all)
	return all
}

func (p *prometheus) query(expr string, at time.Time) promql.Vector {
	p.t.Helper()
	vector, err := p.Query(p.t.Context(), expr, at)
	if err != nil {
		p.t.Fatal(err)
	}
	return vector
}

// run runs one test: it evaluates the rules at each interval, and compares alerts and
// samples when their time has come.
func (c ruleTrial) run(t *testing.T, groups *rulefmt.RuleGroups, every time.Duration) {
	p := newPrometheus(t, c)
	var last time.Duration
	for _, a := range c.Alerts {
		last = max(last, time.Duration(a.At))
	}
	for _, e := range c.Expressions {
		last = max(last, time.Duration(e.At))
	}
	for after := time.Duration(0); after <= last; after += every {
		now := epoch.Add(after)
		p.evaluate(groups, now)
		c.compare(t, p, after, now)
	}
}

func (c ruleTrial) compare(t *testing.T, p *prometheus, after time.Duration, now time.Time) {
	t.Helper()
	for _, a := range c.Alerts {
		if time.Duration(a.At) != after {
			continue
		}
		var want []string
		for _, alert := range a.Want {
			want = append(want, labels.FromMap(alert.Labels).String())
		}
		slices.Sort(want)
		if got := p.firing(a.Name, now); !slices.Equal(got, want) {
			t.Errorf("after %s %s fires with %v, want %v", after, a.Name, got, want)
		}
	}
	for _, e := range c.Expressions {
		if time.Duration(e.At) != after {
			continue
		}
		got, want := map[string]float64{}, map[string]float64{}
		for _, sample := range p.query(e.Expr, now) {
			got[sample.Metric.String()] = sample.F
		}
		for _, sample := range e.Want {
			of, err := p.Parser.ParseMetric(sample.Labels)
			if err != nil {
				t.Fatalf("%s: %v", sample.Labels, err)
			}
			want[of.String()] = sample.Value
		}
		if !maps.Equal(got, want) {
			t.Errorf("after %s %s is %v, want %v", after, e.Expr, got, want)
		}
	}
}
