package inspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/instancetype"
)

// objectsOf reads manifests. One that begins with "# times N" is repeated N times, with the
// number of each in place of NNN. Those without a UID get namespace/name.
func objectsOf(t testing.TB, manifests []byte) (objects []client.Object) {
	t.Helper()
	instancetype.Register()
	decoder := scheme.Codecs.UniversalDeserializer()
	for doc := range strings.SplitSeq(string(manifests), "---\n") {
		times := 1
		_, _ = fmt.Sscanf(doc, "# times %d\n", &times)
		once, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		for i := range times {
			raw := strings.ReplaceAll(string(once), "NNN", fmt.Sprint(i))
			obj, _, err := decoder.Decode([]byte(raw), nil, nil)
			if err != nil {
				t.Fatalf("%v in\n%s", err, raw)
			}
			object, ok := obj.(client.Object)
			if !ok {
				t.Fatalf("%T is no object", obj)
			}
			if object.GetUID() == "" {
				object.SetUID(types.UID(object.GetNamespace() + "/" + object.GetName()))
			}
			objects = append(objects, object)
		}
	}
	return objects
}

// listsOf are the lists of a cluster in which some kinds, named in the plural, cannot be listed.
func listsOf(t testing.TB, manifests []byte, refused ...string) cluster.Snapshot {
	t.Helper()
	var notes []string
	for _, kind := range refused {
		notes = append(notes, kind+" cannot be shown: the user may not list them.")
	}
	lists := cluster.Of(slices.DeleteFunc(objectsOf(t, manifests), func(obj client.Object) bool {
		kind := obj.GetObjectKind().GroupVersionKind().Kind
		return slices.Contains(refused, kind+"s") || slices.Contains(refused, kind+"es")
	}), notes)
	lists.Unlisted = refused
	return lists
}
