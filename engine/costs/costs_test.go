package costs

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

func amounts(cpu, memory, gpus string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{"cpu": cpu, "memory": memory, "nvidia.com/gpu": gpus} {
		if text != "" {
			list[name] = resource.MustParse(text)
		}
	}
	return list
}

func TestSplit(t *testing.T) {
	pod := func(share, cpu, memory, gpus string) Pod { return Pod{share, amounts(cpu, memory, gpus)} }
	node := func(dollars int, pods ...Pod) Node {
		return Node{Monthly: catalog.Money(dollars) * catalog.Dollar, Allocatable: amounts("4", "8Gi", "2"), Pods: pods}
	}
	dollars := func(name string, pods int, monthly, idle float64) Share {
		money := func(f float64) catalog.Money { return catalog.Money(f*100+0.5) * catalog.Dollar / 100 }
		return Share{name, pods, money(monthly), money(idle)}
	}
	tests := []struct {
		name  string
		nodes []Node
		want  []Share
	}{
		{"no nodes", nil, []Share{}},
		{"a node without pods", []Node{node(48)}, []Share{dollars(NoPods, 0, 48, 48)}},
		{"the largest part counts", []Node{node(80, pod("web", "1", "4Gi", ""), pod("db", "1", "1Gi", ""))},
			[]Share{dollars("web", 1, 53.33, 13.33), dollars("db", 1, 26.67, 6.67)}},
		{"a full node has nothing idle", []Node{node(80, pod("web", "2", "", ""), pod("db", "2", "", ""))},
			[]Share{dollars("db", 1, 40, 0), dollars("web", 1, 40, 0)}},
		{"parts above the whole", []Node{node(80, pod("web", "4", "1Gi", ""), pod("db", "", "8Gi", ""))},
			[]Share{dollars("db", 1, 40, 0), dollars("web", 1, 40, 0)}},
		{"a GPU is a resource", []Node{node(80, pod("web", "1", "", "2"), pod("db", "1", "", ""))},
			[]Share{dollars("web", 1, 64, 0), dollars("db", 1, 16, 0)}},
		{"pods without requests", []Node{node(80, pod("web", "", "", ""), pod("web", "", "", ""), pod("db", "0", "", ""))},
			[]Share{dollars("web", 2, 53.33, 53.33), dollars("db", 1, 26.67, 26.67)}},
		{"a resource that the node lacks", []Node{node(80, Pod{"web", corev1.ResourceList{"example.com/x": resource.MustParse("1")}})},
			[]Share{dollars("web", 1, 80, 80)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, split(tt.nodes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSharesAddUpToTheCent draws clusters: the shares add up to the cost of all nodes, nothing is negative, and no share
// is idle for more than it costs.
func TestSharesAddUpToTheCent(t *testing.T) {
	const cent = catalog.Dollar / 100
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		var nodes []Node
		var total catalog.Money
		for range r.IntN(40) {
			n := Node{Monthly: catalog.Money(r.IntN(2_000_000_000)), Allocatable: amounts("4", "8Gi", "")}
			for range r.IntN(12) {
				n.Pods = append(n.Pods, Pod{fmt.Sprint("ns", r.IntN(5)),
					amounts(fmt.Sprint(r.IntN(2000), "m"), fmt.Sprint(r.IntN(4096), "Mi"), "")})
			}
			total += n.Monthly
			nodes = append(nodes, n)
		}
		var sum catalog.Money
		pods := 0
		for _, s := range split(nodes) {
			sum, pods = sum+s.Monthly, pods+s.Pods
			if s.Monthly < 0 || s.Idle < 0 || s.Idle > s.Monthly || s.Monthly%cent != 0 || s.Idle%cent != 0 {
				t.Fatalf("seed %d: %+v", seed, s)
			}
		}
		for _, n := range nodes {
			pods -= len(n.Pods)
		}
		if want := (total + cent/2) / cent * cent; sum != want || pods != 0 {
			t.Fatalf("seed %d: the shares add up to %s, want %s; %d pods", seed, sum, want, pods)
		}
	}
}

func TestParseBy(t *testing.T) {
	for text, want := range map[string]By{"namespace": {}, "label:team": {"team"}, "label:example.com/team": {"example.com/team"}} {
		got, err := ParseBy(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "team", "label:", "label:a b", "Namespace"} {
		if by, err := ParseBy(text); err == nil {
			t.Errorf("%q is %v", text, by)
		}
	}
}
