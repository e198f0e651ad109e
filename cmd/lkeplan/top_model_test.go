package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// fixedNodes is a source that a test changes.
type fixedNodes struct {
	cluster cluster.Snapshot
	changed bool
}

func (f *fixedNodes) Snapshot() (cluster.Snapshot, bool) {
	changed := f.changed
	f.changed = false
	return f.cluster, changed
}

// newFixed has nodes a, b, c of 1, 2 and 3 CPUs.
func newFixed(names ...string) *fixedNodes {
	f := &fixedNodes{changed: true}
	for i, name := range names {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: fmt.Sprintf("g6-standard-%d", 2*(i+1))},
		}}
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(fmt.Sprint(i + 1))}
		f.cluster.Nodes = append(f.cluster.Nodes, node)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-" + name, Namespace: "shop"}}
		pod.Spec.NodeName = name
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}}}
		f.cluster.Pods = append(f.cluster.Pods, pod)
	}
	return f
}

// TestTopKeys presses keys one after the other, and checks where the cursor is, which node comes first, and what is shown.
func TestTopKeys(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	source := newFixed("a", "b", "c")
	m := newModel(source, prices.Price, inspect.ScreenView{}, inspect.ByName, false)
	if m.drawn() != "" {
		t.Error("something is drawn before the terminal has reported its size")
	}
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	for _, step := range []struct{ key, chosen, first, shows string }{
		{"down", "b", "a", "NODE"},
		{"down", "c", "a", "NODE"},
		{"down", "c", "a", "NODE"},
		{"r", "c", "c", "NODE"},
		{"c", "c", "a", "NODE"}, // by CPU: half, a quarter, a sixth
		{"d", "c", "c", "NODE"},
		{"enter", "c", "c", "shop/web-c"},
		{"down", "b", "c", "shop/web-b"},
		{"esc", "b", "c", "NODE"},
		{"home", "c", "c", "NODE"},
		{"end", "a", "c", "NODE"},
		{"pgup", "c", "c", "NODE"},
		{"n", "c", "a", "NODE"},
	} {
		m.Update(press(step.key))
		if m.chosen != step.chosen || m.screen.Nodes[0].Name != step.first || !strings.Contains(m.drawn(), step.shows) {
			t.Errorf("after %s the cursor is at %s and %s comes first, want %s and %s, and %q in\n%s", step.key, m.chosen,
				m.screen.Nodes[0].Name, step.chosen, step.first, step.shows, m.drawn())
		}
		if lines := strings.Count(m.drawn(), "\n") + 1; lines != 30 {
			t.Errorf("after %s there are %d lines", step.key, lines)
		}
	}
	if _, quit := m.Update(press("q")); quit == nil {
		t.Error("q does not quit")
	}
}

// TestTopFiltersAndCopies presses keys one after the other, and checks which nodes are listed and what is shown.
func TestTopFiltersAndCopies(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	source := newFixed("web-a", "web-b", "db-c")
	m := newModel(source, prices.Price, inspect.ScreenView{}, inspect.ByName, false)
	m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
	for _, step := range []struct{ key, names, chosen, shows string }{
		{"?", "db-c web-a web-b", "db-c", "top is read-only"},
		{"q", "db-c web-a web-b", "db-c", "? help"}, // any key leaves the help, and q does not quit
		{"/", "db-c web-a web-b", "db-c", "filter : 3 of 3 nodes"},
		{"W", "web-a web-b", "web-a", "filter W: 2 of 3 nodes"},
		{"q", "", "", "filter Wq: 0 of 3 nodes"}, // a letter like any other
		{"enter", "", "", "? help"},
		{"enter", "", "", "esc clear"}, // there is no node to show
		{"y", "", "", "esc clear"},
		{"/", "", "", "enter keep"},
		{"backspace", "web-a web-b", "web-a", "filter W: 2 of 3 nodes"},
		{"enter", "web-a web-b", "web-a", "/ change"},
		{"down", "web-a web-b", "web-b", "NODE"},
		{"r", "web-b web-a", "web-b", "filter W"},
		{"y", "web-b web-a", "web-b", "copied web-b"},
		{"enter", "web-b web-a", "web-b", "shop/web-web-b"},
		{"y", "web-b web-a", "web-b", "copied web-b"},
		{"esc", "web-b web-a", "web-b", "filter W"},
		{"esc", "web-b web-a db-c", "web-b", "? help"}, // clears the filter, and does not quit
		{"/", "web-b web-a db-c", "web-b", "filter : 3"},
		{"4", "web-b", "web-b", "filter 4: 1 of 3 nodes"}, // the plan type g6-standard-4
		{"esc", "web-b web-a db-c", "web-b", "? help"},
	} {
		_, cmd := m.Update(press(step.key))
		var names []string
		for _, n := range m.screen.Nodes {
			names = append(names, n.Name)
		}
		if strings.Join(names, " ") != step.names || m.chosen != step.chosen || !strings.Contains(m.drawn(), step.shows) {
			t.Errorf("after %s: nodes %v, the cursor at %q, want %s and %q, and %q in\n%s", step.key, names, m.chosen,
				step.names, step.chosen, step.shows, m.drawn())
		}
		if copies := cmd != nil; copies != strings.HasPrefix(step.shows, "copied") {
			t.Errorf("after %s there is a command: %v", step.key, copies)
		}
		if lines := strings.Count(m.drawn(), "\n") + 1; lines != 30 {
			t.Errorf("after %s there are %d lines", step.key, lines)
		}
	}
	m.Update(press("/"))
	source.cluster.Nodes, source.changed = source.cluster.Nodes[:1], true
	m.Update(press("w"))
	m.Update(tick(time.Now())) // nodes that come and go while a filter is typed are filtered
	if got := m.keys(); !strings.HasPrefix(got, "filter w: 1 of 1 node ") {
		t.Errorf("%s", got)
	}
	if _, quit := m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}); quit == nil {
		t.Error("ctrl-c does not quit while a filter is typed")
	}
}

// TestTopFollowsTheCluster: the node that is shown can be removed.
func TestTopFollowsTheCluster(t *testing.T) {
	source := newFixed("a", "b")
	free := func(string, string) (catalog.Price, bool) { return catalog.Price{}, false }
	m := newModel(source, free, inspect.ScreenView{}, inspect.ByName, false)
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 10})
	m.Update(press("down"))
	m.Update(press("enter"))
	source.cluster.Nodes, source.cluster.Pods, source.changed = source.cluster.Nodes[:1], nil, true
	if _, again := m.Update(tick(time.Now())); again == nil {
		t.Error("there is no next time")
	}
	if m.mode != topLists || m.chosen != "a" {
		t.Errorf("the cursor is at %q, and the mode is %v", m.chosen, m.mode)
	}
	source.cluster, source.changed = cluster.Snapshot{}, true
	m.Update(tick(time.Now()))
	for _, key := range []string{"down", "enter", "end", "r"} {
		m.Update(press(key))
	}
	if !strings.Contains(m.drawn(), "0 nodes") {
		t.Errorf("an empty cluster:\n%s", m.drawn())
	}
}

func press(key string) tea.KeyPressMsg {
	for _, code := range []rune{
		tea.KeyUp, tea.KeyDown, tea.KeyEnter, tea.KeyEscape, tea.KeyHome, tea.KeyEnd, tea.KeyPgUp, tea.KeyPgDown,
		tea.KeyBackspace,
	} {
		if msg := (tea.KeyPressMsg{Code: code}); msg.String() == key {
			return msg
		}
	}
	return tea.KeyPressMsg{Code: rune(key[0]), Text: key}
}
