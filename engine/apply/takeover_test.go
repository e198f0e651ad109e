package apply

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/kube"
)

// busy is a cluster in which another client writes to an object n times before
// it can be taken over.
type busy struct {
	live   map[string]any
	writes int
	taken  int
}

func (b *busy) Get(context.Context, map[string]any) (map[string]any, error) { return b.live, nil }

func (b *busy) TakeOver(context.Context, map[string]any, kube.Takeover) error {
	if b.writes > 0 {
		b.writes--
		return fmt.Errorf("take over: %w", kube.ErrChanged)
	}
	b.taken++
	return nil
}

// TestTakeOver retries after conflicting writes, and takes over only objects with an import block, with equal values.
func TestTakeOver(t *testing.T) {
	addr := config.Addr{Type: "pool", Name: "web"}
	desired := map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"weight": int64(10)},
	}
	there := func(weight int64) map[string]any {
		live := maps.Clone(desired)
		live["metadata"] = map[string]any{"name": "web", "managedFields": []any{map[string]any{
			"manager": "helm", "operation": "Apply", "apiVersion": "karpenter.sh/v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:weight": map[string]any{}}},
		}}}
		live["spec"] = map[string]any{"weight": weight}
		return live
	}
	head := compile.Result{}
	head.Objects = []config.Object{{Addr: addr, Manifest: desired}}
	without := head
	head.Imports = []config.Import{{Addr: addr}}
	for name, tt := range map[string]struct {
		head    compile.Result
		cluster busy
		want    string // what is reported, or a part of the error
	}{
		"as it is":                    {head, busy{live: there(10)}, "NodePool web from [helm]"},
		"written to at the same time": {head, busy{live: there(10), writes: 3}, "NodePool web from [helm]"},
		"written to without end":      {head, busy{live: there(10), writes: 100}, kube.ErrChanged.Error()},
		"another value":               {head, busy{live: there(11)}, "take over NodePool web: "},
		"not there":                   {head, busy{}, "it was deleted"},
		"no import block":             {without, busy{live: there(10)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			err := TakeOver(t.Context(), &tt.cluster, tt.head, []compare.Target{{Desired: desired}}, func(taken Taken) {
				got += fmt.Sprintf("%s from %v", taken.Key, taken.From)
			})
			if err != nil {
				got = err.Error()
			}
			if taken := tt.cluster.taken > 0; taken != strings.HasPrefix(tt.want, "NodePool") {
				t.Errorf("taken over: %v", taken)
			}
			if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
