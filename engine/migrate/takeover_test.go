package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
)

// busy is a cluster in which another client writes to an object n times before
// it can be taken over.
type busy struct {
	objects []map[string]any
	writes  int
	taken   int
}

func (b *busy) List(_ context.Context, _, kind string) (list []map[string]any, _ error) {
	for _, obj := range b.objects {
		if obj["kind"] == kind {
			list = append(list, obj)
		}
	}
	return list, nil
}

func (b *busy) TakeOver(context.Context, map[string]any, kube.Takeover) error {
	if b.writes > 0 {
		b.writes--
		return fmt.Errorf("take over: %w", kube.ErrChanged)
	}
	b.taken++
	return nil
}

func (b *busy) Apply(context.Context, map[string]any, map[string]any) (kube.Outcome, error) {
	return kube.Unchanged, nil
}

// TestTakeOver retries after conflicting writes, takes all objects or none, and none
// without an import block.
func TestTakeOver(t *testing.T) {
	imported, err := Import(t.Context(), objects(t, somePool), dev, "")
	if err != nil {
		t.Fatal(err)
	}
	there := []map[string]any{imported.Compiled.Objects[0].Defaulted}
	other := objects(t, strings.Replace(somePool, "NOTE", "another", 1))
	without := imported.Compiled
	without.Imports = nil
	unknown := imported.Compiled
	unknown.Imports = []config.Import{{Addr: config.Addr{Type: "pool", Name: "nowhere"}}}
	tests := []struct {
		name    string
		head    compile.Result
		cluster busy
		taken   int
		want    string // a part of the error; "" for none
	}{
		{"as it is", imported.Compiled, busy{objects: there}, 1, ""},
		{"written to at the same time", imported.Compiled, busy{objects: there, writes: 3}, 1, ""},
		{"written to without end", imported.Compiled, busy{objects: there, writes: 100}, 0, kube.ErrChanged.Error()},
		{"another value", imported.Compiled, busy{objects: other}, 0, ErrNotTheSame.Error()},
		{"not there", imported.Compiled, busy{}, 0, "not in the cluster: NodePool a"},
		{"no import block", without, busy{objects: there}, 0, "there is no import block"},
		{"an import block about nothing", unknown, busy{objects: there}, 0, "pool.nowhere is not in the configuration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := TakeOver(t.Context(), tt.head, &tt.cluster, func(Taken) {})
			if tt.cluster.taken != tt.taken || (err != nil) != (tt.want != "") ||
				err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d taken over, error %v", tt.cluster.taken, err)
			}
			if tt.name == "another value" && !errors.Is(err, ErrNotTheSame) {
				t.Errorf("the error is not ErrNotTheSame: %v", err)
			}
		})
	}
}
