package instance

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
)

// named is an account whose lists by tag lack what is listed by its label.
type named struct {
	*listing
	all []api.Instance
	err error
}

func (n named) InstancesNamed(context.Context, string) ([]api.Instance, error) { return n.all, n.err }

// TestUntaggedLinodeIsCounted, and said if no NodeClaim has it. Those of others are not.
func TestUntaggedLinodeIsCounted(t *testing.T) {
	id := Identity{Name: "prod", uid: "u"}
	const plan = "g6-standard-4"
	lost := api.Instance{ID: 7, Type: plan, Label: id.Node("gone"), Tags: []string{"team=web"}}
	with := func(change func(*api.Instance)) api.Instance {
		one := lost
		change(&one)
		return one
	}
	for name, tt := range map[string]struct {
		one            api.Instance
		bound, unowned float64
		said           bool
	}{
		"no NodeClaim has it":             {lost, 0, 1, true},
		"one has it by its label":         {with(func(i *api.Instance) { i.Label = id.Node("uid-a") }), 1, 0, false},
		"one has it by its id":            {with(func(i *api.Instance) { i.ID = 9 }), 1, 0, false},
		"it has its tag":                  {with(func(i *api.Instance) { i.Tags = []string{id.Tag()} }), 0, 0, false}, // it is on the list
		"of another cluster of the name":  {with(func(i *api.Instance) { i.Tags = []string{"LKEPLAN-ID=other"} }), 0, 0, false},
		"a person's own":                  {with(func(i *api.Instance) { i.Label = "prod-web" }), 0, 0, false},
		"of a cluster with a longer name": {with(func(i *api.Instance) { i.Label = "prod-" + lost.Label }), 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			i, counted := countingIn(t, &listing{}, ordered("uid-a", plan, 9, time.Now()))
			i.cfg.API = named{&listing{}, []api.Instance{tt.one}, nil}
			i.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
			if err := i.findUntagged(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, _, err := (cluster{i}).Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := counted()
			if got["lkeplan_machines bound"] != tt.bound || got["lkeplan_machines unowned"] != tt.unowned {
				t.Errorf("counted %v", got)
			}
			if said := strings.Contains(log.String(), "it stays and costs"); said != tt.said {
				t.Errorf("log: %s", log.String())
			}
		})
	}
	i, _ := countingIn(t, &listing{})
	i.untagged, i.cfg.API = []api.Instance{lost}, named{err: errors.New("no answer")}
	if err := i.findUntagged(t.Context()); err == nil || len(i.untagged) != 1 {
		t.Errorf("%v: what was known is forgotten", err)
	}
}
