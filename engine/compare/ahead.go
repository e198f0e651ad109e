package compare

import (
	"context"
	"sync"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
)

// Ahead begins to list what Live will ask a view for, so that a cluster answers while the
// configuration is compiled. Each list is asked for once. What goes wrong is told to
// who asks for the list; until then nobody has to wait for it.
func Ahead(ctx context.Context, view View) View {
	a := ahead{View: view, objects: map[schemas.Object]list[map[string]any]{}}
	for _, kind := range Kinds() {
		a.objects[kind] = startList(func() ([]map[string]any, error) { return view.Objects(ctx, kind) })
	}
	a.nodes = startList(func() ([]plan.Node, error) { return view.Nodes(ctx) })
	return a
}

type ahead struct {
	View
	objects map[schemas.Object]list[map[string]any]
	nodes   list[plan.Node]
}

// A list waits for its answer.
type list[T any] func() ([]T, error)

func startList[T any](ask list[T]) list[T] {
	once := sync.OnceValues(ask)
	go once()
	return once
}

func (a ahead) Objects(ctx context.Context, kind schemas.Object) ([]map[string]any, error) {
	if asked, ok := a.objects[kind]; ok {
		return asked()
	}
	return a.View.Objects(ctx, kind)
}

func (a ahead) Nodes(context.Context) ([]plan.Node, error) { return a.nodes() }
