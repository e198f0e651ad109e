package limits

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// four is a node of 4 CPUs and 8 GiB for 48 dollars in a pool.
func four(pool string) Node {
	sold := Amounts{Nodes: 1, CPU: 4000, Memory: 8 << 30, MonthlyCost: 48_000_000}
	return Node{Pool: pool, Plan: "four", Sold: sold, Reported: Amounts{Nodes: 1, CPU: 4000, Memory: 7 << 30}}
}

func replaced(n Node) Node { n.Replaced = true; return n }

func TestRefuses(t *testing.T) {
	tests := []struct {
		name  string
		limit Limit
		nodes []Node
		wish  Node
		want  string // the resource that is short; "" where the wish fits
	}{
		{"nothing is capped", Limit{}, []Node{four("a"), four("a")}, four("a"), ""},
		{"the last node fits", Limit{Max: Amounts{Nodes: 2}}, []Node{four("a")}, four("a"), ""},
		{"one node more does not", Limit{Max: Amounts{Nodes: 2}}, []Node{four("a"), four("b")}, four("a"), Nodes},
		{"none at all", Limit{Max: Amounts{Nodes: 0}}, nil, four("a"), Nodes},
		{"CPUs to the last one", Limit{Max: Amounts{CPU: 8000}}, []Node{four("a")}, four("a"), ""},
		{"half a CPU short", Limit{Max: Amounts{CPU: 7500}}, []Node{four("a")}, four("a"), CPU},
		{"memory as it is sold", Limit{Max: Amounts{Memory: 15 << 30}}, []Node{four("a")}, four("a"), Memory},
		{"money to the cent", Limit{Max: Amounts{MonthlyCost: 96_000_000}}, []Node{four("a")}, four("a"), ""},
		{"a cent short", Limit{Max: Amounts{MonthlyCost: 95_990_000}}, []Node{four("a")}, four("a"), MonthlyCost},
		{
			"the first by name of two that are short", Limit{Max: Amounts{Nodes: 1, CPU: 4000}}, []Node{four("a")}, four("a"),
			CPU,
		},
		{
			"more is used than allowed", Limit{Max: Amounts{Nodes: 1}}, []Node{four("a"), four("a"), four("a")}, four("a"),
			Nodes,
		},
		{"other pools do not count", Limit{Pools: []string{"a"}, Max: Amounts{Nodes: 1}}, []Node{four("b")}, four("a"), ""},
		{"nor are they held back", Limit{Pools: []string{"a"}, Max: Amounts{Nodes: 1}}, []Node{four("a")}, four("b"), ""},
		{"a resource that the wish has none of", Limit{Max: Amounts{"nvidia.com/gpu": 0}}, nil, four("a"), ""},
		{"a node on its way out counts", Limit{Max: Amounts{Nodes: 1}}, []Node{replaced(four("a"))}, four("a"), Nodes},
		{
			"but not for the pool's own limit", Limit{
				Own: true, Pools: []string{"a"}, Max: Amounts{Nodes: 1},
			}, []Node{replaced(four("a"))}, four("a"), "",
		},
		{
			"for which counts what nodes report", Limit{
				Own: true, Pools: []string{"a"}, Max: Amounts{Memory: 14 << 30},
			}, []Node{four("a")}, four("a"), "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			refusal, refused := Count([]Limit{tt.limit}, tt.nodes).Refuses(tt.wish)
			if refused != (tt.want != "") || refusal.Resource != tt.want {
				t.Errorf("refused = %v for %q, want %q", refused, refusal.Resource, tt.want)
			}
		})
	}
}

func TestRoom(t *testing.T) {
	got := Room(Amounts{Nodes: 3, CPU: 4000, Memory: 1}, Amounts{Nodes: 1, CPU: 8000, MonthlyCost: 5})
	if diff := cmp.Diff(Amounts{Nodes: 2, CPU: 0, Memory: 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRepeatedCreateReturnsTheSameMachine(t *testing.T) {
	b := NewBook()
	b.Show([]Limit{{Name: "one", Max: Amounts{Nodes: 1}}}, []Claim{{UID: "x"}}, now)
	eight := four("a")
	eight.Plan = "eight"
	wishes := []Node{eight, four("a")}
	if chosen, _, ok := b.Reserve("x", wishes[1:], now); !ok || chosen != 0 {
		t.Fatal("the first wish does not fit")
	}
	if chosen, _, ok := b.Reserve("x", wishes, now); !ok || wishes[chosen].Plan != "four" {
		t.Errorf("the second answer is %d, %v", chosen, ok)
	}
	if _, refusal, ok := b.Reserve("y", wishes, now); ok || refusal.Limit.Name != "one" {
		t.Errorf("another claim fits too: %+v", refusal)
	}
}

func TestSecondPreferenceIsUsedIfFirstDoesNotFit(t *testing.T) {
	b := NewBook()
	b.Show([]Limit{{Name: "money", Max: Amounts{MonthlyCost: 50_000_000}}}, nil, now)
	dear := four("a")
	dear.Sold = Amounts{MonthlyCost: 90_000_000}
	if chosen, _, ok := b.Reserve("x", []Node{dear, four("a")}, now); !ok || chosen != 1 {
		t.Errorf("Reserve = %d, %v", chosen, ok)
	}
}

// BenchmarkReserve asks for the nodes of a burst under three limits.
func BenchmarkReserve(b *testing.B) {
	for _, claims := range []int{100, 1000, 10000} {
		b.Run(strconv.Itoa(claims), func(b *testing.B) {
			caps := []Limit{
				{Name: "all", Max: Amounts{Nodes: 1 << 40, MonthlyCost: 1 << 50}}, {Name: "cpu", Max: Amounts{CPU: 1 << 50}},
				{Name: "web", Pools: []string{"web"}, Max: Amounts{Nodes: 1 << 40}, Own: true},
			}
			amounts := Amounts{Nodes: 1, CPU: 4000, Memory: 8 << 30, MonthlyCost: 48_000_000}
			wishes := []Node{{Pool: "web", Plan: "g6-standard-4", Sold: amounts, Reported: amounts}}
			for b.Loop() {
				book := NewBook()
				book.Show(caps, nil, now)
				for n := range claims {
					if _, _, ok := book.Reserve(strconv.Itoa(n), wishes, now); !ok {
						b.Fatal("a claim was refused")
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*claims), "ns/claim")
		})
	}
}
