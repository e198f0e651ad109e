package observability

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// suite is a file of tests for rules, in the format of promtool.
type suite struct {
	RuleFiles []string       `json:"rule_files"`
	Every     model.Duration `json:"evaluation_interval"`
	Tests     []trial        `json:"tests"`
}

type trial struct {
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
	t      *testing.T
	engine *promql.Engine
	parse  parser.Parser
	series map[string]*promql.Series // by their labels
	active map[string]pending        // alerts by name and labels
}

// pending is an alert whose condition holds.
type pending struct {
	labels labels.Labels
	since  time.Time
	wait   time.Duration
}

func newPrometheus(t *testing.T, c trial) *prometheus {
	p := &prometheus{
		t: t, parse: parser.NewParser(parser.Options{}), series: map[string]*promql.Series{}, active: map[string]pending{},
	}
	p.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p.parse,
	})
	for _, in := range c.Input {
		of, values, err := p.parse.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			t.Fatalf("%s: %v", in.Series, err)
		}
		for i, v := range values {
			if !v.Omitted {
				p.add(of, epoch.Add(time.Duration(i)*time.Duration(c.Interval)), v.Value)
			}
		}
	}
	return p
}

// epoch is where the time of all tests begins.
var epoch = time.Unix(0, 0)

func (p *prometheus) add(of labels.Labels, at time.Time, value float64) {
	s := p.series[of.String()]
	if s == nil {
		s = &promql.Series{Metric: of}
		p.series[of.String()] = s
	}
	s.Floats = append(s.Floats, promql.FPoint{T: at.UnixMilli(), F: value})
}

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
				p.add(labels.NewBuilder(sample.Metric).Set(model.MetricNameLabel, rule.Record).Labels(), at, sample.F)
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
			p.active[of.String()] = pending{of, at, time.Duration(rule.For)}
		}
	}
	maps.DeleteFunc(p.active, func(key string, a pending) bool {
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
	q, err := p.engine.NewInstantQuery(p.t.Context(), p, nil, expr, at)
	if err != nil {
		p.t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	result := q.Exec(p.t.Context())
	vector, err := result.Vector()
	if err != nil {
		p.t.Fatalf("%s: %v", expr, err)
	}
	return slices.Clone(vector)
}

// Querier implements storage.Queryable.
func (p *prometheus) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: p.find}, nil
}

// find returns the series with labels, ordered by these.
func (p *prometheus) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{}
	for _, s := range p.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.Metric.Get(m.Name)) }) {
			found.rest = append(found.rest, promql.NewStorageSeries(*s))
		}
	}
	slices.SortFunc(found.rest, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return found
}

// set is a storage.SeriesSet of series in memory.
type set struct {
	at   storage.Series
	rest []storage.Series
}

func (s *set) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *set) At() storage.Series                { return s.at }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// run runs one test: it evaluates the rules at each interval, and compares alerts and
// samples when their time has come.
func (c trial) run(t *testing.T, groups *rulefmt.RuleGroups, every time.Duration) {
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

func (c trial) compare(t *testing.T, p *prometheus, after time.Duration, now time.Time) {
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
			of, err := p.parse.ParseMetric(sample.Labels)
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
