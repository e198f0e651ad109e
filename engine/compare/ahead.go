package compare

import (
	"context"
	"sync"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/schemas"
)

// Ahead starts to list what Live will read, so that a cluster answers while the configuration is compiled. Each list is
// requested once. The reader of a list waits for it and gets its error.
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

// A list is a pending or finished request.
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
