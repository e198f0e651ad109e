package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
)

// nodesAt is a cluster whose nodes are others at each look; the last ones stay.
type nodesAt struct {
	compare.View
	looks *[][]plan.Node
}

func (n nodesAt) Nodes(context.Context) ([]plan.Node, error) {
	now := (*n.looks)[0]
	if len(*n.looks) > 1 {
		*n.looks = (*n.looks)[1:]
	}
	return now, nil
}

// TestNodesAreWaitedFor until those that a pool has at first are ready, or gone.
func TestNodesAreWaitedFor(t *testing.T) {
	node := func(name string, change func(*plan.Node)) plan.Node {
		n := plan.Node{Name: name, Pool: "web", Initialized: true}
		if change != nil {
			change(&n)
		}
		return n
	}
	joining := func(n *plan.Node) { n.Initialized = false }
	unready := func(n *plan.Node) { n.Unready = true }
	leaving := func(n *plan.Node) { n.Initialized, n.Deleting = false, true }
	other := func(n *plan.Node) { n.Initialized, n.Pool = false, "other" }
	tests := []struct {
		name  string
		looks [][]plan.Node
		want  string // "": it is done in time
	}{
		{"no nodes", [][]plan.Node{nil}, ""},
		{"all ready", [][]plan.Node{{node("a", nil)}}, ""},
		{"one joins", [][]plan.Node{{node("a", joining)}, {node("a", joining)}, {node("a", nil)}}, ""},
		{"one never joins", [][]plan.Node{{node("a", joining), node("b", nil)}}, "NodePool web: nodes that have not joined or are not ready: 1"},
		{"one is not ready", [][]plan.Node{{node("a", unready)}}, "not ready: 1"},
		{"one goes", [][]plan.Node{{node("a", joining)}, {node("a", leaving)}}, ""},
		{"one is gone", [][]plan.Node{{node("a", joining)}, nil}, ""},
		{"another one is made meanwhile", [][]plan.Node{{node("a", joining)}, {node("a", nil), node("b", joining)}}, ""},
		{"one of another pool", [][]plan.Node{{node("a", other)}}, ""},
	}
	pools := []map[string]any{{"kind": "NodePool", "metadata": map[string]any{"name": "web"}}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := WaitNodes(ctx, nodesAt{looks: &tt.looks}, pools)
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %q", err, tt.want)
				}
			})
		})
	}
}

// TestAWaitOutlastsSilence of the API server: it asks again, and where it is never answered it
// reports it.
func TestAWaitOutlastsSilence(t *testing.T) {
	for answers, want := range map[bool]string{true: "", false: "did not answer"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			began := time.Now()
			err := WaitNodes(ctx, silentAt{answers: func() bool {
				return answers && time.Since(began) > 10*time.Minute
			}}, nil)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("after %s: %v, want %q", time.Since(began), err, want)
			}
		})
	}
}

// silentAt is a cluster without nodes that answers only at chosen calls.
type silentAt struct {
	compare.View
	answers func() bool
}

// Nodes implements compare.View.
func (s silentAt) Nodes(context.Context) ([]plan.Node, error) {
	if s.answers() {
		return nil, nil
	}
	return nil, fmt.Errorf("list: %w", kube.NoResponseError{Host: "here", Request: "GET /api", After: kube.RequestTimeout})
}
