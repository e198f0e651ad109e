package compare

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// slow answers when it may; what it refuses it refuses at once.
type slow struct {
	counted
	may     chan struct{}
	refused string
}

func (s *slow) List(ctx context.Context, apiVersion, kind string) ([]map[string]any, error) {
	objects, err := s.counted.List(ctx, apiVersion, kind)
	if kind == s.refused {
		return nil, errors.New("refused")
	}
	select {
	case <-s.may:
		return objects, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestAheadListsBeforeItIsAsked(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	head := compiled(t, "node_class \"default\" {}\n")
	for name, refused := range map[string]string{"all answer": "", "nodes are refused": "NodeClaim", "pools are refused": "NodePool"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := &slow{counted{lists: map[string]int{}}, make(chan struct{}), refused}
				view := Ahead(t.Context(), LiveView(in))
				synctest.Wait()
				want := map[string]int{"NodeClaim": 1}
				for _, kind := range Kinds() {
					want[kind.Kind] = 1
				}
				if diff := cmp.Diff(want, in.lists); diff != "" {
					t.Errorf("what is listed before it is asked for (-want +got):\n%s", diff)
				}
				close(in.may)
				_, err := Live(t.Context(), head, view, LiveOptions{Base: head, Prices: prices})
				if (err != nil) != (refused != "") {
					t.Errorf("%v where %q is refused", err, refused)
				}
				if refused != "NodeClaim" {
					want["Node"] = 1
				}
				if diff := cmp.Diff(want, in.lists); diff != "" {
					t.Errorf("what is listed at all (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestAheadEndsWithItsContext: a configuration that does not compile ends the command
// though the cluster does not answer.
func TestAheadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in := &slow{counted{lists: map[string]int{}}, make(chan struct{}), ""}
		view := Ahead(ctx, LiveView(in))
		cancel()
		if _, err := view.Nodes(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
