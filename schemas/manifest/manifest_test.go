package manifest

import "testing"

func TestKeyOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		object map[string]any
		want   Key
		text   string
	}{
		{map[string]any{"kind": "NodePool", "metadata": map[string]any{"name": "general"}},
			Key{Kind: "NodePool", Name: "general"}, "NodePool general"},
		{
			map[string]any{"kind": "CapacityBuffer", "metadata": map[string]any{"namespace": "web", "name": "spare"}},
			Key{"CapacityBuffer", "web", "spare"}, "CapacityBuffer web/spare",
		},
		{map[string]any{"kind": 7, "metadata": "none"}, Key{}, " "},
		{nil, Key{}, " "},
	} {
		got := KeyOf(tt.object)
		if got != tt.want || got.String() != tt.text {
			t.Errorf("KeyOf(%v) = %#v, %q", tt.object, got, got)
		}
	}
}

func TestLookupDistinguishesNullFromAbsent(t *testing.T) {
	t.Parallel()
	object := map[string]any{"spec": map[string]any{"limits": nil, "weight": int64(3),
		"labels": map[string]any{"a": "b"}}}
	for _, tt := range []struct {
		path  []string
		want  any
		found bool
	}{
		{[]string{"spec", "limits"}, nil, true},
		{[]string{"spec", "weight"}, int64(3), true},
		{[]string{"spec", "labels", "a"}, "b", true},
		{[]string{"spec", "limits", "cpu"}, nil, false},
		{[]string{"spec", "weight", "cpu"}, nil, false},
		{[]string{"status"}, nil, false},
	} {
		if got, found := Lookup(object, tt.path...); got != tt.want || found != tt.found {
			t.Errorf("Lookup(%q) = %v, %t; want %v, %t", tt.path, got, found, tt.want, tt.found)
		}
	}
	if Map(object, "spec", "labels")["a"] != "b" || Map(object, "spec", "weight") != nil {
		t.Error("Map returns a value that is not a map, or misses one")
	}
	if Text(object, "spec", "weight") != "" {
		t.Error("Text returns a value that is not a string")
	}
}
