package main

import (
	"context"
	"fmt"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/cmd/lkeplan/podsource"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/simulate"
)

// runReplay says what the pools would have come to with the pods of snapshots.
func (s *simulateSettings) runReplay(ctx context.Context, env *flags.Env) error {
	if page := s.output.Value; page == "markdown" || page == "html" {
		return fmt.Errorf("--replay is printed as text or json, not as %s", page)
	}
	series, err := podsource.ReadSeries(s.replay)
	if err != nil {
		return fmt.Errorf("--replay: %w", err)
	}
	compiled, _, err := s.comparison.Compile(ctx)
	if err != nil {
		return err
	}
	prices, err := s.comparison.Catalog()
	if err != nil {
		return err
	}
	timeline, err := series.Timeline(compiled.Head, prices)
	if err != nil {
		return err
	}
	ledger, err := simulate.Replay(ctx, timeline)
	if err != nil {
		return err
	}
	ledger.Notes = append(series.Notes(timeline.Pools.Region), ledger.Notes...)
	if s.output.Value == "json" {
		err = writeJSON(env.Stdout, ledger)
	} else {
		from := fmt.Sprintf("%s with the pods of %d snapshots of %s", s.comparison.Dir(), series.Size(),
			diag.OneLine(series.Cluster))
		_, err = fmt.Fprint(env.Stdout, diag.Visible(ledger.Text(from)))
	}
	if err == nil && ledger.PodHours > 0 {
		return flags.Refused
	}
	return err
}
