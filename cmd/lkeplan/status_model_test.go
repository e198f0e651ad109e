package main

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// fixed is a source that a test changes.
type fixed struct {
	lists   cluster.Snapshot
	changed bool
}

func (f *fixed) Snapshot() (cluster.Snapshot, bool) {
	changed := f.changed
	f.changed = false
	return f.lists, changed
}

// TestStatusScreenFollowsTheCluster: it is redrawn after changes, keys scroll it, and q quits.
func TestStatusScreenFollowsTheCluster(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	source := &fixed{}
	m := &statusModel{source: source, given: inspect.Given{Catalog: prices, Now: time.Now()},
		judge: func(lists cluster.Snapshot, given inspect.Given) (inspect.Status, error) {
			return inspect.NewStatus(t.Context(), lists, given)
		}}
	if m.drawn() != "" {
		t.Error("something is drawn before the terminal has reported its size")
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 6})
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		source.lists.Pools = append(source.lists.Pools, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	source.changed = true
	if _, again := m.Update(tick(time.Now())); again == nil {
		t.Error("there is no next time")
	}
	for _, step := range []struct{ key, shows, hides string }{
		{"up", "0 nodes in 6 pools", "e  "}, {"down", "POOL", "0 nodes in 6 pools"}, {"pgdown", "e  ", "0 nodes in 6 pools"},
		{"pgdown", "f  ", "POOL"}, {"home", "0 nodes in 6 pools", "f  "},
	} {
		m.Update(press(step.key))
		text := m.drawn()
		if !strings.Contains(text, step.shows) || strings.Contains(text, step.hides) {
			t.Errorf("after %s it shows not %q, or %q:\n%s", step.key, step.shows, step.hides, text)
		}
		if lines := strings.Count(text, "\n") + 1; lines != 6 {
			t.Errorf("after %s there are %d lines", step.key, lines)
		}
	}
	if _, quit := m.Update(press("q")); quit == nil {
		t.Error("q does not quit")
	}
}
