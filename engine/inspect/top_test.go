package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestScreens draws clusters at the widths of terminals, and shows the node that a
// file names.
func TestScreens(t *testing.T) {
	prices := embedded(t)
	golden.Archives(t, "testdata/top", func(files fstest.MapFS) map[string]string {
		cluster := read(t, files["cluster.yaml"].Data)
		screen := NewScreen(cluster, prices)
		if by, ok := files["sort"]; ok {
			key, reverse, _ := strings.Cut(strings.TrimSpace(string(by.Data)), " ")
			screen.Sort(SortKey(key), reverse == "reverse")
		}
		got := map[string]string{}
		for _, width := range []int{40, 80, 200} {
			view := ScreenView{Width: width, Now: now, At: -1, Place: "sandbox"}
			got[fmt.Sprintf("want.%d.txt", width)] = screen.Draw(view)
			for line := range strings.Lines(screen.Draw(view)) {
				if n := length(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if name, ok := files["look"]; ok {
				detail, found := screen.Detail(cluster, strings.TrimSpace(string(name.Data)))
				if !found {
					t.Fatalf("there is no node %s", name.Data)
				}
				got[fmt.Sprintf("want.look.%d.txt", width)] = detail.DrawDetail(view)
			}
		}
		if _, ok := files["want.json"]; ok {
			t.Fatal("want.json is no input")
		}
		text, err := json.MarshalIndent(screen, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got["want.json"] = string(text) + "\n"
		return got
	})
}

func embedded(t testing.TB) Prices {
	t.Helper()
	facts, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return facts.Price
}

// read reads the objects of a file.
func read(t *testing.T, text []byte) (c cluster.Snapshot) {
	t.Helper()
	documents := utilyaml.NewYAMLReader(readerOf(text))
	for {
		document, err := documents.Read()
		if err == io.EOF {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "Node":
			c.Nodes = append(c.Nodes, as[corev1.Node](t, document))
		case "Pod":
			c.Pods = append(c.Pods, as[corev1.Pod](t, document))
		case "NodeClaim":
			c.Claims = append(c.Claims, as[karpv1.NodeClaim](t, document))
		case "NodePool":
			c.Pools = append(c.Pools, as[karpv1.NodePool](t, document))
		case "Note":
			note := as[metav1.Status](t, document)
			c.Notes = append(c.Notes, note.Message)
			if note.Reason != "" {
				c.Unlisted = append(c.Unlisted, string(note.Reason))
			}
		default:
			t.Fatalf("a document of kind %q", kind.Kind)
		}
	}
}

func as[T any](t *testing.T, document []byte) *T {
	t.Helper()
	obj := new(T)
	if err := yaml.Unmarshal(document, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestChosenNodeIsVisible at any position, and the screen is not higher than the terminal.
func TestChosenNodeIsVisible(t *testing.T) {
	screen := NewScreen(many(200, 0), embedded(t))
	for _, at := range []int{0, 1, 57, 198, 199} {
		view := ScreenView{Width: 120, Height: 24, Now: now, At: at, Paint: func(ink Ink, text string) string {
			if ink == InkChosen {
				return "> " + text
			}
			return text
		}}
		drawn := screen.Draw(view)
		if lines := strings.Count(drawn, "\n"); lines > view.Height {
			t.Errorf("at %d: %d lines", at, lines)
		}
		if !strings.Contains(drawn, "> "+screen.Nodes[at].Name) {
			t.Errorf("node %d is not in sight:\n%s", at, drawn)
		}
	}
}

// TestNothingIsCutWithoutATerminal: files and pipes have no width.
func TestNothingIsCutWithoutATerminal(t *testing.T) {
	cluster := many(1, 0)
	name, pool, place := "lke1-2-"+strings.Repeat("a", 90), strings.Repeat("p", 60), strings.Repeat("c", 150)
	cluster.Nodes[0].Name, cluster.Nodes[0].Labels[karpv1.NodePoolLabelKey] = name, pool
	cluster.Notes = []string{strings.Repeat("This user may not list pods. ", 10)}
	drawn := NewScreen(cluster, embedded(t)).Draw(ScreenView{Now: now, At: -1, Place: place})
	for _, want := range []string{name, pool, place, cluster.Notes[0]} {
		if !strings.Contains(drawn, want) {
			t.Errorf("%s is cut:\n%s", want, drawn)
		}
	}
}

// BenchmarkScreen is a refresh of a large cluster: 1,000 nodes and 10,000 pods.
func BenchmarkScreen(b *testing.B) {
	cluster, prices := many(1000, 10), embedded(b)
	for b.Loop() {
		screen := NewScreen(cluster, prices)
		screen.Sort(ByCPU, false)
		if out := screen.Draw(ScreenView{Width: 200, Height: 60, Now: now}); len(out) == 0 {
			b.Fatal("nothing was drawn")
		}
	}
}

// many is a cluster with nodes of ten pools, and pods on each.
func many(nodes, pods int) (c cluster.Snapshot) {
	request := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("350m"), corev1.ResourceMemory: resource.MustParse("600Mi"),
	}
	for i := range nodes {
		name, pool := fmt.Sprintf("lke1-2-%012x", i), fmt.Sprintf("pool-%d", i%10)
		labels := map[string]string{
			karpv1.NodePoolLabelKey: pool, corev1.LabelInstanceTypeStable: "g6-standard-4", corev1.LabelTopologyRegion: "us-ord",
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		node.CreationTimestamp = metav1.NewTime(now)
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("3900m"), corev1.ResourceMemory: resource.MustParse("6500Mi"),
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		c.Nodes = append(c.Nodes, node)
		nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim-" + name, Labels: labels}}
		nc.Status.NodeName = name
		nc.StatusConditions().SetTrue(karpv1.ConditionTypeInitialized)
		c.Claims = append(c.Claims, nc)
		for j := range pods {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, j), Namespace: "default"}}
			pod.Spec.NodeName = name
			pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: request}}}
			c.Pods = append(c.Pods, pod)
		}
	}
	return c
}

func readerOf(text []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(text)) }

func TestAgesHaveTwoUnitsAtMost(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": -time.Hour, "59s": 59*time.Second + time.Second/2, "1m": time.Minute, "1m4s": 64 * time.Second, "9m59s": 10*time.Minute - 1,
		"10m": 10*time.Minute + 9*time.Second, "28m": 28 * time.Minute, "1h": time.Hour + 59*time.Second, "1h30m": 90 * time.Minute,
		"9h59m": 10*time.Hour - 1, "20h": 20*time.Hour + 20*time.Minute, "47h": 48*time.Hour - 1, "2d": 48 * time.Hour, "30d": 30 * 24 * time.Hour,
	} {
		if got := Age(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}
