package sim

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLateCalls are answered, or not, before: a PUT, POST or DELETE takes effect at its own time, on what
// has changed meanwhile.
func TestLateCalls(t *testing.T) {
	late := metav1.Duration{Duration: 20 * time.Second}
	for name, f := range map[string]Fault{
		"504":     {Status: 504, Late: late, Count: 1, Method: "PUT"},
		"no word": {Lost: true, Late: late, Count: 1, Method: "PUT"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccount(t, Config{})
				p := a.makePool(10, nil)
				a.mustInject(f)
				path := fmt.Sprintf("cluster/pools/%d", p.ID)
				if got := a.outcome("PUT", path, fields{"count": 11}); got == "200" {
					t.Errorf("the PUT was answered %s", got)
				}
				a.do("PUT", path, fields{"count": 20}, nil)
				time.Sleep(19 * time.Second)
				if got := a.pool(p.ID).Count; got != 20 {
					t.Errorf("%d nodes before it is done", got)
				}
				time.Sleep(time.Second)
				if got := a.pool(p.ID).Count; got != 11 {
					t.Errorf("%d nodes after it was done; LKE takes nine", got)
				}
			})
		})
	}
	t.Run("POST and DELETE", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a := newAccount(t, Config{})
			p := a.makePool(2, nil)
			a.mustInject(Fault{Status: 504, Late: late, Method: "POST", Count: 1})
			a.mustInject(Fault{Status: 504, Late: late, Method: "DELETE"})
			a.outcome("POST", "cluster/pools", fields{"type": "g6-standard-4", "count": 50})
			a.outcome("DELETE", "cluster/nodes/"+p.Nodes[0].ID, nil)
			a.outcome("DELETE", "cluster/nodes/none", nil) // which is nowhere by then, either
			before := a.Stats().Slots
			time.Sleep(20 * time.Second)
			if got := a.Stats(); before != 2 || got.Slots != 51 || got.Pools != 2 {
				t.Errorf("%d slots before, %+v after", before, got)
			}
		})
	})
}

func (a *account) mustInject(f Fault) {
	a.Helper()
	if err := a.Inject(f); err != nil {
		a.Fatal(err)
	}
}

func TestADeletionWithoutEffect(t *testing.T) {
	a := newAccount(t, Config{})
	p := a.makePool(2, nil)
	a.mustInject(Fault{Method: "DELETE", Ignored: true, Count: 1})
	path := "cluster/nodes/" + p.Nodes[0].ID
	for want := 2; want > 0; want-- {
		if got := a.outcome("DELETE", path, nil); got != "200" {
			t.Error(got)
		}
		if got := len(a.pool(p.ID).Nodes); got != want {
			t.Errorf("%d nodes are listed; want %d", got, want)
		}
	}
}

// TestPartialCapacity: whole calls are refused that want more than there is, or they are clamped.
func TestPartialCapacity(t *testing.T) {
	for _, tc := range []struct {
		way  string
		want []int // the count of the pool after asking for 2, 6 and 4
	}{
		{Refuse, []int{2, 2, 4}},
		{Clamp, []int{2, 5, 4}},
	} {
		t.Run(tc.way, func(t *testing.T) {
			a := newAccount(t, Config{})
			p := a.makePool(1, nil)
			a.mustInject(Fault{NoCapacity: tc.way, Plan: "g6-standard-4", Room: 4})
			for i, count := range []int{2, 6, 4} {
				a.outcome("PUT", fmt.Sprintf("cluster/pools/%d", p.ID), fields{"count": count})
				if got := a.pool(p.ID).Count; got != tc.want[i] {
					t.Errorf("asked for %d: %d nodes, want %d", count, got, tc.want[i])
				}
			}
		})
	}
}

// TestSlotsThatAreNeverListed are counted and never listed, until the fault is cleared.
func TestSlotsThatAreNeverListed(t *testing.T) {
	a := newAccount(t, Config{})
	a.mustInject(Fault{NoCapacity: Hidden, After: 1})
	p := a.makePool(3, nil)
	shown := func() string {
		q := a.pool(p.ID)
		return fmt.Sprintf("%d of %d listed, %d live", len(q.Nodes), q.Count, a.Stats().Live)
	}
	if diff := cmp.Diff("1 of 3 listed, 1 live", shown()); diff != "" {
		t.Error(diff)
	}
	a.ClearFaults()
	if diff := cmp.Diff("3 of 3 listed, 3 live", shown()); diff != "" {
		t.Error(diff)
	}
}

// TestRecycledNodes keep their slots or get new ones; the whole cluster can be recycled at once.
func TestRecycledNodes(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a := newAccount(t, Config{RecycleNewSlots: fresh, DeleteDelay: time.Second})
			before := []Pool{a.makePool(2, nil), a.makePool(1, nil)}
			a.do("POST", "cluster/recycle", nil, nil)
			time.Sleep(2 * time.Second)
			if s := a.Stats(); s.Made != 6 || s.Live != 3 {
				t.Errorf("%d made, %d live", s.Made, s.Live)
			}
			for _, old := range before {
				p := a.pool(old.ID)
				if p.Count != old.Count || (p.Nodes[0].ID == old.Nodes[0].ID) == fresh {
					t.Errorf("new slots: %v: %+v, before %+v", fresh, p, old)
				}
			}
		})
	}
}

// TestARateOfFaults hits so many calls, in each of its ways.
func TestARateOfFaults(t *testing.T) {
	a := newAccount(t, Config{FaultRate: 0.3})
	counts := map[string]int{}
	for range 1000 {
		counts[a.outcome("PUT", "cluster", fields{})[:3]]++
	}
	for _, status := range []int{http.StatusInternalServerError, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout} {
		if n := counts[fmt.Sprint(status)]; n < 60 || n > 140 {
			t.Errorf("%d: %d of 1000 calls", status, n)
		}
	}
	a.mustInject(Fault{Name: "mine", Status: 418})
	a.EndFaults("refused at random")
	a.EndFaults("done and failed at random")
	a.EndFaults("done later at random")
	if got := a.outcome("GET", "cluster", nil); got[:3] != "418" {
		t.Error(got)
	}
	a.EndFaults("mine")
	if got := a.outcome("GET", "cluster", nil); got != "200" {
		t.Error(got)
	}
}

// TestBillOfMaterials counts begun hours whole, of what lives and of what is gone.
func TestBillOfMaterials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{})
		p := a.makePool(2, fields{"type": "g6-standard-1"})
		time.Sleep(90 * time.Minute)
		a.do("DELETE", "cluster/nodes/"+p.Nodes[0].ID, nil, nil)
		time.Sleep(time.Hour)
		if s := a.Stats(); s.Hours != 4 || s.Bill != 5*s.HourlyCost {
			t.Errorf("%v hours, a bill of %s at %s an hour", s.Hours, s.Bill, s.HourlyCost)
		}
	})
}
