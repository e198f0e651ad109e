package bootstrap

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// TestEveryFieldArrives fails for a field of the class that is added, until machines of each
// kind get it.
func TestEveryFieldArrives(t *testing.T) {
	for field := range reflect.TypeFor[linodev1alpha1.KubeletConfiguration]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		t.Run(name, func(t *testing.T) {
			var k linodev1alpha1.KubeletConfiguration
			value := reflect.ValueOf(&k).Elem().FieldByIndex(field.Index)
			value.Set(some(t, field.Type))

			var said map[string]any
			if err := yaml.Unmarshal([]byte(kubeletConfig(&k)), &said); err != nil {
				t.Fatal(err)
			}
			if len(said) != 3 || said[name] == nil {
				t.Errorf("kubeadm: %v", said)
			}
			row := slices.IndexFunc(flags, func(f flagOf) bool { return f.field == name })
			if args := kubeletFlags(&k); row < 0 || len(args) != 1 || !strings.HasPrefix(args[0], flags[row].flag+"=") {
				t.Errorf("k3s: %q", args)
			}
			value.Set(zero(field.Type))
			if args := kubeletFlags(&k); value.Kind() == reflect.Pointer && len(args) != 1 {
				t.Errorf("k3s: nothing is said of a zero that is said: %q", args)
			}
		})
	}
}

// some returns a value of a field's type that a kubelet would take.
func some(t *testing.T, of reflect.Type) reflect.Value {
	t.Helper()
	for _, value := range []any{
		[]string{"10.96.0.10"}, new(int32(1)), new(true), map[string]string{"memory.available": "1Gi"},
		map[string]metav1.Duration{"memory.available": {Duration: time.Minute}},
	} {
		if reflect.TypeOf(value) == of {
			return reflect.ValueOf(value)
		}
	}
	t.Fatalf("no value of type %s is known", of)
	return reflect.Value{}
}

func zero(of reflect.Type) reflect.Value {
	if of.Kind() == reflect.Pointer {
		return reflect.New(of.Elem())
	}
	return reflect.Zero(of)
}
