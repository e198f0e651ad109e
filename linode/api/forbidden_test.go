package api

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lkeplan/lkeplan/linode/sim"
)

// TestForbiddenAfterAnObjectWasMade: the API may answer 403 to calls for what it has just made. Such a call is sent
// once more before the token is blamed.
func TestForbiddenAfterAnObjectWasMade(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers int           // with 403
		after   time.Duration // that the pool was created
		want    Class
		calls   int
	}{
		{"once", 1, time.Second, ClassNone, 2},
		{"again", 2, time.Second, ClassAuth, 2},
		{"much later", 1, time.Minute, ClassAuth, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				simulator, err := sim.New(sim.Config{ClusterID: 77})
				if err != nil {
					t.Fatal(err)
				}
				standing := NewStanding(ScopePools)
				c, err := New("http://linode.test", "token",
					Options{Transport: simulator.Client().Transport, Observe: standing.Observe})
				if err != nil {
					t.Fatal(err)
				}
				pool, err := c.CreatePool(t.Context(), 77, PoolSpec{Type: "g6-standard-4", Count: 1})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(tt.after)
				if err := simulator.Inject(sim.Forbidden(sim.Fault{Method: "PUT", Count: tt.answers})); err != nil {
					t.Fatal(err)
				}
				_, err = c.GrowPool(t.Context(), 77, pool.ID, 2)
				if got := ClassOf(err); got != tt.want {
					t.Errorf("class %q of %v, want %q", got, err, tt.want)
				}
				calls := 0
				for _, call := range simulator.Calls() {
					if call.Method == "PUT" {
						calls++
					}
				}
				if calls != tt.calls {
					t.Errorf("%d calls, want %d", calls, tt.calls)
				}
				problem := standing.Problem()
				if refused := tt.want == ClassAuth; (problem.Reason == ReasonTokenRefused) != refused ||
					refused != strings.Contains(problem.Text, "role") {
					t.Errorf("the problem is %+v", problem)
				}
			})
		})
	}
}
