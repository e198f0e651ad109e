package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// series is series by their labels.
type series struct {
	Parser parser.Parser

	engine *promql.Engine
	series map[string]*promql.Series
}

// newSeries returns a store without series.
func newSeries() *series {
	s := &series{Parser: parser.NewParser(parser.Options{}), series: map[string]*promql.Series{}}
	s.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: s.Parser,
	})
	return s
}

// Add adds a sample, which is later than those before it.
func (s *series) Add(of labels.Labels, at time.Time, value float64) {
	one := s.series[of.String()]
	if one == nil {
		one = &promql.Series{Metric: of}
		s.series[of.String()] = one
	}
	one.Floats = append(one.Floats, promql.FPoint{T: at.UnixMilli(), F: value})
}

// Scrape adds the samples of an answer in the text format, as of a time.
func (s *series) Scrape(text []byte, at time.Time) error {
	p := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read metrics: %w", err)
		case entry == textparse.EntrySeries:
			var of labels.Labels
			p.Labels(&of)
			_, _, value := p.Series()
			s.Add(of, at, value)
		}
	}
}

// Query evaluates an expression at a time.
func (s *series) Query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	q, err := s.engine.NewInstantQuery(ctx, s, nil, expr, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	defer q.Close()
	vector, err := q.Exec(ctx).Vector()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expr, err)
	}
	return slices.Clone(vector), nil
}

// Querier implements storage.Queryable.
func (s *series) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: s.find}, nil
}

// find returns the series with labels, ordered by these.
func (s *series) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{}
	for _, one := range s.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Metric.Get(m.Name)) }) {
			found.rest = append(found.rest, promql.NewStorageSeries(*one))
		}
	}
	slices.SortFunc(found.rest, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return found
}

// seriesSet is a storage.SeriesSet of series in memory.
type seriesSet struct {
	at   storage.Series
	rest []storage.Series
}

func (s *seriesSet) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *seriesSet) At() storage.Series                { return s.at }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
