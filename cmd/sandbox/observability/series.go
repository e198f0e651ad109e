package observability

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

// Store is series by their labels.
type Store struct {
	Parser parser.Parser

	engine *promql.Engine
	series map[string]*promql.Series
}

// New returns a store without series.
func New() *Store {
	s := &Store{Parser: parser.NewParser(parser.Options{}), series: map[string]*promql.Series{}}
	s.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: s.Parser,
	})
	return s
}

// Add adds a sample, which is later than those before it.
func (s *Store) Add(of labels.Labels, at time.Time, value float64) {
	one := s.series[of.String()]
	if one == nil {
		one = &promql.Series{Metric: of}
		s.series[of.String()] = one
	}
	one.Floats = append(one.Floats, promql.FPoint{T: at.UnixMilli(), F: value})
}

// Scrape adds the samples of an answer in the text format, as of a time.
func (s *Store) Scrape(text []byte, at time.Time) error {
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
func (s *Store) Query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
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
func (s *Store) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: s.find}, nil
}

// find returns the series with labels, ordered by these.
func (s *Store) find(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{}
	for _, one := range s.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.Metric.Get(m.Name)) }) {
			found.rest = append(found.rest, promql.NewStorageSeries(*one))
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
