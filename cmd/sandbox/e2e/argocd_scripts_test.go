package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// maxScript is how long a script may take.
const maxScript = time.Second

// runLua runs a script with the object as obj, and returns its result. The script has the
// libraries that Argo CD opens for scripts in its ConfigMap: base, package and table,
// and time and date of os. Empty tables become lists.
func runLua(ctx context.Context, script string, obj map[string]any) (any, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable},
		{lua.OsLibName, openClock}} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(lib.open), Protect: true},
			lua.LString(lib.name)); err != nil {
			return nil, fmt.Errorf("open library %s: %w", lib.name, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, maxScript)
	defer cancel()
	state.SetContext(ctx)
	value, err := toLua(state, obj)
	if err != nil {
		return nil, err
	}
	state.SetGlobal("obj", value)
	if err := state.DoString(script); err != nil {
		return nil, err
	}
	return fromLua(state.Get(-1))
}

// openClock opens only time and date of the library os.
func openClock(state *lua.LState) int {
	lua.OpenOs(state)
	all := state.CheckTable(-1)
	var others []string
	all.ForEach(func(key, _ lua.LValue) {
		if name := key.String(); name != "time" && name != "date" {
			others = append(others, name)
		}
	})
	for _, name := range others {
		all.RawSetString(name, lua.LNil)
	}
	return 1
}

// toLua converts a JSON value to Lua.
func toLua(state *lua.LState, value any) (lua.LValue, error) {
	switch value := value.(type) {
	case nil:
		return lua.LNil, nil
	case bool:
		return lua.LBool(value), nil
	case string:
		return lua.LString(value), nil
	case float64:
		return lua.LNumber(value), nil
	case int64:
		return lua.LNumber(value), nil
	case []any:
		table := state.NewTable()
		for _, item := range value {
			inner, err := toLua(state, item)
			if err != nil {
				return nil, err
			}
			table.Append(inner)
		}
		return table, nil
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			inner, err := toLua(state, item)
			if err != nil {
				return nil, err
			}
			table.RawSetString(key, inner)
		}
		return table, nil
	}
	return nil, fmt.Errorf("no value of JSON: %T", value)
}

// fromLua converts a Lua value to JSON. A table whose first key is a number is a list.
func fromLua(value lua.LValue) (any, error) {
	switch value := value.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(value), nil
	case lua.LString:
		return string(value), nil
	case lua.LNumber:
		if whole := int64(value); lua.LNumber(whole) == value {
			return whole, nil
		}
		return float64(value), nil
	case *lua.LTable:
		return fromTable(value)
	}
	return nil, fmt.Errorf("a script returned a %s", value.Type())
}

func fromTable(table *lua.LTable) (any, error) {
	list, entries := []any{}, map[string]any{}
	var failed error
	table.ForEach(func(key, item lua.LValue) {
		inner, err := fromLua(item)
		if err != nil {
			failed = err
		}
		if name, named := key.(lua.LString); named {
			entries[string(name)] = inner
		} else {
			list = append(list, inner)
		}
	})
	switch {
	case failed != nil:
		return nil, failed
	case len(entries) == 0:
		return list, nil
	case len(list) > 0:
		return nil, fmt.Errorf("a table with keys of several kinds")
	}
	return entries, nil
}

// restored turns empty lists back into the empty maps that Lua cannot tell from them,
// as Argo CD does.
func restored(now, before any) any {
	switch now := now.(type) {
	case map[string]any:
		if old, ok := before.(map[string]any); ok {
			for key := range now {
				now[key] = restored(now[key], old[key])
			}
		}
	case []any:
		if _, wasMap := before.(map[string]any); wasMap && len(now) == 0 {
			return map[string]any{}
		}
		if old, ok := before.([]any); ok {
			for i := range min(len(now), len(old)) {
				now[i] = restored(now[i], old[i])
			}
		}
	}
	return now
}

// health is what Argo CD shows of an object.
type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// argoHealth returns the health that a script gives an object. A status that Argo CD
// does not know is an error.
func argoHealth(ctx context.Context, script string, obj map[string]any) (health, error) {
	result, err := runLua(ctx, script, obj)
	if err != nil {
		return health{}, err
	}
	entries, _ := result.(map[string]any)
	status, _ := entries["status"].(string)
	if !slices.Contains([]string{"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"}, status) {
		return health{}, fmt.Errorf("no health: %v", result)
	}
	message, _ := entries["message"].(string)
	return health{status, message}, nil
}

// argoActions returns the actions that a script offers for an object: true for disabled
// ones.
func argoActions(ctx context.Context, script string, obj map[string]any) (map[string]bool, error) {
	result, err := runLua(ctx, script, obj)
	if err != nil {
		return nil, err
	}
	entries, isMap := result.(map[string]any)
	if !isMap {
		return nil, fmt.Errorf("no actions: %v", result)
	}
	actions := map[string]bool{}
	for name, about := range entries {
		options, _ := about.(map[string]any)
		actions[name], _ = options["disabled"].(bool)
	}
	return actions, nil
}

// argoAct runs an action on an object, and returns the changed object.
func argoAct(ctx context.Context, script string, obj map[string]any) (map[string]any, error) {
	result, err := runLua(ctx, script, obj)
	if err != nil {
		return nil, err
	}
	after, isMap := restored(result, obj).(map[string]any)
	if !isMap {
		return nil, fmt.Errorf("no object: %v", result)
	}
	return after, nil
}
