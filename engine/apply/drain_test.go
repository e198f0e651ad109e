package apply

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/plan"
)

// deleting is a cluster that deletes objects, or refuses to.
type deleting struct {
	executor
	err error
}

func (d deleting) Delete(context.Context, map[string]any) error { return d.err }

// TestDrainingPoolsAreDeletedAfterTheirLastNode: each for itself, and how many nodes are
// left is reported once.
func TestDrainingPoolsAreDeletedAfterTheirLastNode(t *testing.T) {
	of := func(web, batch int) (nodes []plan.Node) {
		for i := range web {
			nodes = append(nodes, plan.Node{Name: fmt.Sprint("web", i), Pool: "web"})
		}
		for i := range batch {
			nodes = append(nodes, plan.Node{Name: fmt.Sprint("batch", i), Pool: "batch"})
		}
		return append(nodes, plan.Node{Name: "other", Pool: "other"})
	}
	for _, tt := range []struct {
		name     string
		looks    [][]plan.Node
		refusal  error
		reported []string
		want     string // the error; "" where all are deleted in time
	}{
		{name: "no nodes", looks: [][]plan.Node{of(0, 0)}, reported: []string{"web deleted", "batch deleted"}},
		{name: "one after the other", looks: [][]plan.Node{of(2, 1), of(2, 0), of(1, 0), of(1, 0), of(0, 0)},
			reported: []string{"web drains 2", "batch drains 1", "batch deleted", "web drains 1", "web deleted"}},
		{name: "a node that stays", looks: [][]plan.Node{of(1, 0)}, reported: []string{"web drains 1", "batch deleted"},
			want: "NodePool web: it is draining, nodes left: 1"},
		{name: "a refusal", looks: [][]plan.Node{of(0, 3)}, refusal: errors.New("forbidden"), want: "forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var condemned []compare.Target
				for _, name := range []string{"web", "batch"} {
					condemned = append(condemned, compare.Target{Live: map[string]any{
						"kind": "NodePool", "metadata": map[string]any{"name": name},
					}})
				}
				var reported []string
				err := Drain(ctx, deleting{err: tt.refusal}, nodesAt{looks: &tt.looks}, condemned, func(p Progress) {
					text := p.Name + " deleted"
					if p.Event == Drains {
						text = fmt.Sprintf("%s drains %d", p.Name, p.Of)
					}
					reported = append(reported, text)
				})
				if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
					t.Errorf("%v, want %q", err, tt.want)
				}
				var unfinished UnfinishedError
				if tt.want != "" && tt.refusal == nil && !errors.As(err, &unfinished) {
					t.Errorf("%v says nothing of the time being up", err)
				}
				if diff := cmp.Diff(tt.reported, reported); diff != "" {
					t.Errorf("reported (-want +got):\n%s", diff)
				}
			})
		})
	}
}
