package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awslabs/operatorpkg/status"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	nodeclaimdisruption "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/testdata/nightly"
)

var pairs = flag.Int("pairs", nightly.Or(2000, 100_000), "how many pairs of objects are drawn; 100000 takes minutes")

// TestRandomChangesAreJudgedAsApplied: of random objects and random edits of them, made from
// the schemas of the CRDs, the plan names a change exactly if other bytes are sent, and says that nodes roll
// exactly if Karpenter's or the class's hash differs. Of nodes that Karpenter's own controller
// finds drifted, it counts each.
func TestRandomChangesAreJudgedAsApplied(t *testing.T) {
	validator := kube.BuiltinValidator()
	ctx := log.IntoContext(t.Context(), logr.Discard())
	draw := newDraw(t, validator)
	changed, rolled, drifted, same := 0, 0, 0, 0
	var before compile.Result
	for seed := range *pairs {
		draw.Rand = rand.New(rand.NewPCG(uint64(seed/5), uint64(seed%5))) // a revision has five edits
		if seed%5 == 0 {
			before = draw.revision()
		}
		after, edits := draw.edited(before)
		got, err := judge(ctx, validator, draw, before, after)
		if err != nil {
			t.Errorf("seed %d, edits %v: %v\nbefore %s\nafter  %s", seed, edits, err, objectsText(before), objectsText(after))
		}
		changed, rolled, drifted, same = changed+got.changed, rolled+got.rolled, drifted+got.drifted, same+got.same
		if t.Failed() {
			return
		}
	}
	t.Logf("%d pairs: %d objects changed, %d rolled; %d nodes drifted; %d edits say the same", *pairs, changed, rolled,
		drifted, same)
	if least := *pairs / 50; changed < least || rolled < least || drifted < least || same < least {
		t.Error("too few of the pairs are about each question")
	}
}

// TestWhatLosesNothingIsAsItIsWritten: of random edits that remove nothing, the API server makes what is written.
func TestWhatLosesNothingIsAsItIsWritten(t *testing.T) {
	validator := kube.BuiltinValidator()
	draw := newDraw(t, validator)
	var before compile.Result
	compared := 0
	for seed := range *pairs {
		draw.Rand = rand.New(rand.NewPCG(uint64(seed/5), uint64(seed%5)))
		if seed%5 == 0 {
			before = draw.revision()
		}
		after, edits := draw.edited(before)
		for _, o := range after.Objects {
			was, existed := plan.ByKey(before.Objects)[o.Key()]
			if !existed || reflect.DeepEqual(was.Manifest, o.Manifest) || losesValue(was.Manifest, o.Manifest) {
				continue
			}
			compared++
			want, err := predictApply(validator, was.Manifest, o.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			delete(manifest.Map(want, "metadata"), "managedFields")
			if diff := cmp.Diff(want, kube.Spelled(o.Defaulted, was.Defaulted)); diff != "" {
				t.Fatalf("seed %d, edits %v (-predicted +written)\n%s\nbefore %s\nafter  %s", seed, edits, diff, objectsText(before), objectsText(after))
			}
		}
	}
	if compared < *pairs/10 {
		t.Errorf("only %d of %d pairs lose nothing", compared, *pairs)
	}
}

// found counts what a pair was about.
type found struct{ changed, rolled, drifted, same int }

// judge compares what the plan of a pair says with what is sent, and with what Karpenter does.
func judge(ctx context.Context, validator *kube.Validator, draw *draw, before, after compile.Result) (got found, err error) {
	cluster := drawn{objects: map[string][]map[string]any{}}
	for _, o := range before.Objects {
		obj, _, err := validator.Predict(nil, before.Labelled(o.Manifest))
		if err != nil {
			return got, err
		}
		manifest.Map(obj, "metadata")["uid"] = "uid of " + o.Name()
		cluster.objects[o.Kind()] = append(cluster.objects[o.Kind()], obj)
	}
	pool, class, err := typed(cluster.objects["NodePool"][0], cluster.objects["LinodeNodeClass"][0])
	if err != nil {
		return got, err
	}
	claims := draw.claims(pool, class)
	cluster.nodes = NodesOf(claims, nil)
	for i := range cluster.nodes {
		cluster.nodes[i].Version = "v99.0.0" // Karpenter compares no versions, so none is behind
	}
	live, err := Live(ctx, after, cluster, LiveOptions{Base: before, Prices: &catalog.Catalog{}})
	if err != nil {
		return got, err
	}
	if err := live.Judged(); err != nil {
		return got, err
	}
	revisions, err := Revisions(ctx, before, after, &catalog.Catalog{}, time.Time{})
	if err != nil {
		return got, err
	}
	changeOf := func(p plan.Plan, key manifest.Key) (of plan.Change) {
		for _, c := range p.Changes {
			if c.Key() == key {
				of = c
			}
		}
		return of
	}
	is := map[string]map[string]any{}
	for i, t := range live.Targets {
		key := manifest.KeyOf(t.Desired)
		is[key.Kind] = t.stored
		sent := !reflect.DeepEqual(storedOf(t.Live), storedOf(t.stored))
		was, err := plan.TemplateHash(t.Live)
		if err != nil {
			return got, err
		}
		hash, err := plan.TemplateHash(t.stored)
		if err != nil {
			return got, err
		}
		for name, c := range map[string]plan.Change{"of a cluster": changeOf(live.Plan, key), "of revisions": changeOf(revisions, key)} {
			if named := len(c.Fields) > 0; named != sent {
				return got, fmt.Errorf("%s: the plan %s names a change: %v; other bytes are sent: %v", key, name, named, sent)
			}
			if rolled := rollsItself(c); rolled != (hash != was) {
				return got, fmt.Errorf("%s: the plan %s says that nodes roll: %v; the hash differs: %v", key, name, rolled, hash != was)
			}
		}
		// An apply that spells nothing as the live object does is the measure.
		plain, _, err := validator.Predict(t.Live, after.Labelled(after.Objects[i].Manifest))
		if err != nil {
			return got, err
		}
		said, err := meaning(t.stored)
		if err != nil {
			return got, err
		}
		want, err := meaning(plain)
		if err != nil {
			return got, err
		}
		if !equality.Semantic.DeepEqual(said, want) {
			return got, fmt.Errorf("%s: what is applied does not say what is written (-written +applied):\n%s", key,
				cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", said)))
		}
		if of, err := plan.TemplateHash(plain); of != hash || err != nil {
			return got, fmt.Errorf("%s: what is applied has another hash than what is written: %v", key, err)
		}
		if sent {
			got.changed++
		}
		if hash != was {
			got.rolled++
		}
		if !sent && !reflect.DeepEqual(before.Objects[i].Manifest, after.Objects[i].Manifest) {
			got.same++
		}
	}
	newPool, newClass, err := typed(is["NodePool"], is["LinodeNodeClass"])
	if err != nil {
		return got, err
	}
	for i := range claims {
		before, err := karpenterDrifts(ctx, pool, class, claims[i])
		if err != nil {
			return got, err
		}
		after, err := karpenterDrifts(ctx, newPool, newClass, claims[i])
		if err != nil {
			return got, err
		}
		if after && !before {
			got.drifted++
		}
	}
	c := changeOf(live.Plan, manifest.KeyOf(is["NodePool"]))
	counted := 0
	if c.Impact != nil {
		counted = c.Impact.Rolled
	}
	if counted != got.drifted {
		return got, fmt.Errorf("the plan replaces %d of %d nodes, and Karpenter %d", counted, len(claims), got.drifted)
	}
	if c = changeOf(revisions, c.Key()); got.drifted > 0 && len(c.Because) == 0 &&
		!slices.ContainsFunc(c.Fields, func(f plan.Field) bool { return f.Effect == plan.Roll }) {
		return got, fmt.Errorf("%d nodes drift, and the plan of revisions says %q", got.drifted, c.Effect)
	}
	return got, nil
}

// rollsItself reports whether a field of the object itself has another hash.
func rollsItself(c plan.Change) bool {
	return slices.ContainsFunc(c.Fields, func(f plan.Field) bool { return f.Effect == plan.Roll && !f.Partial })
}

// meaning is what Karpenter and the provider read in an object: its typed form, in which
// amounts and durations have no spelling, with the lists that they read as sets in order.
func meaning(obj map[string]any) (read any, err error) {
	if obj["kind"] == "LinodeNodeClass" {
		class := &linodev1alpha1.LinodeNodeClass{}
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, class)
		for _, set := range [][]string{class.Spec.Tags, class.Spec.AuthorizedKeys, class.Spec.AuthorizedUsers} { // by the CRD
			slices.Sort(set)
		}
		return class.Spec, err
	}
	pool := &karpv1.NodePool{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, pool); err != nil {
		return nil, err
	}
	spec := &pool.Spec.Template.Spec
	for i := range spec.Requirements {
		slices.Sort(spec.Requirements[i].Values)
	}
	for _, budget := range pool.Spec.Disruption.Budgets {
		slices.Sort(budget.Reasons)
	}
	return pool.Spec, errors.Join(sortByText(spec.Requirements), sortByText(spec.Taints), sortByText(spec.StartupTaints),
		sortByText(pool.Spec.Disruption.Budgets))
}

func sortByText[T any](list []T) (err error) {
	slices.SortFunc(list, func(a, b T) int {
		x, errX := json.Marshal(a)
		y, errY := json.Marshal(b)
		err = errors.Join(err, errX, errY)
		return bytes.Compare(x, y)
	})
	return err
}

// storedOf is what an API server stores of an object, but for who has set it.
func storedOf(obj map[string]any) map[string]any {
	obj = maps.Clone(obj)
	metadata := maps.Clone(manifest.Map(obj, "metadata"))
	delete(metadata, "managedFields")
	obj["metadata"] = metadata
	return obj
}

func typed(pool, class map[string]any) (*karpv1.NodePool, *linodev1alpha1.LinodeNodeClass, error) {
	p, c := &karpv1.NodePool{}, &linodev1alpha1.LinodeNodeClass{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pool, p); err != nil {
		return nil, nil, err
	}
	return p, c, runtime.DefaultUnstructuredConverter.FromUnstructured(class, c)
}

// karpenterDrifts has Karpenter's own controller look at a NodeClaim, under a pool with the
// hash that its controller of hashes writes.
func karpenterDrifts(ctx context.Context, pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass,
	claim *karpv1.NodeClaim) (bool, error) {
	claim = claim.DeepCopy()
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	controller := nodeclaimdisruption.NewController(clock.RealClock{}, onePool{pool: pool}, byHash{class: class})
	if _, err := controller.Reconcile(ctx, claim); err != nil {
		return false, err
	}
	return claim.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue(), nil
}

// onePool is a cluster with one NodePool.
type onePool struct {
	client.Client
	pool *karpv1.NodePool
}

func (c onePool) Get(_ context.Context, _ types.NamespacedName, into client.Object, _ ...client.GetOption) error {
	pool := into.(*karpv1.NodePool)
	*pool = *c.pool
	pool.Annotations = maps.Clone(pool.Annotations)
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, karpv1.NodePoolHashAnnotationKey, c.pool.Hash())
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, karpv1.NodePoolHashVersionAnnotationKey, karpv1.NodePoolHashVersion)
	return nil
}

func (c onePool) Status() client.SubResourceWriter { return ignored{} }

type ignored struct{ client.SubResourceWriter }

func (ignored) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

// byHash is a provider for which a node has drifted if its class has another hash.
type byHash struct {
	cloudprovider.CloudProvider
	class *linodev1alpha1.LinodeNodeClass
}

func (p byHash) GetSupportedNodeClasses() []status.Object { return []status.Object{p.class} }

func (p byHash) IsDrifted(_ context.Context, claim *karpv1.NodeClaim) (cloudprovider.DriftReason, error) {
	if claim.Spec.NodeClassRef.Name == p.class.Name && claim.Annotations[linodev1alpha1.AnnotationHash] != p.class.Hash() {
		return "class", nil
	}
	return "", nil
}

// drawn is a cluster of drawn objects.
type drawn struct {
	objects map[string][]map[string]any
	nodes   []plan.Node
}

func (c drawn) Objects(_ context.Context, kind schemas.Object) ([]map[string]any, error) {
	return c.objects[kind.Kind], nil
}

func (c drawn) Nodes(context.Context) ([]plan.Node, error) { return c.nodes, nil }

func (c drawn) Holds(_ context.Context, nodes []plan.Node, _ []plan.Change, _ time.Time) ([]plan.Node, []string, error) {
	return nodes, nil, nil
}

func (c drawn) Notes() []string { return nil }

func (c drawn) Whole(context.Context, []client.Object) (Whole, error) {
	return Whole{Unknown: "it is drawn"}, nil
}

// draw makes random objects and edits them.
type draw struct {
	*rand.Rand
	validator *kube.Validator
	schemas   map[string]*structuralschema.Structural // by kind
	patterns  map[string][]string                     // which words a pattern takes
}

func newDraw(t *testing.T, validator *kube.Validator) *draw {
	t.Helper()
	d := &draw{validator: validator, schemas: map[string]*structuralschema.Structural{}, patterns: map[string][]string{}}
	for _, c := range kube.CRDs() {
		internal := &apiextensionsinternal.JSONSchemaProps{}
		err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			c.Spec.Versions[0].Schema.OpenAPIV3Schema, internal, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d.schemas[c.Spec.Names.Kind], err = structuralschema.NewStructural(internal); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// words are texts that mean the same in one field and something else in another, and what the
// patterns of the CRDs ask for.
var words = []string{
	"1", "1.0", "1.10", "1.1", "2", "1000", "1k", "1e3", "0.5", "500m", "1Gi", "1024Mi", "20Gi", "20480Mi", "10", "010", "10.0",
	"0s", "30s", "720h", "43200m", "24h", "1h0m0s", "1h", "60m", "Never", "10%", "100%", "0", "a", "b", "web", "true", "None",
	"example.com/a", "example.com/b", "example.com/n", "linode/debian12", "linode/ubuntu24.04", "10.0.0.1", "10.0.0.2",
	"kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type", "topology.kubernetes.io/region", "amd64", "arm64",
	"linux", "us-ord", "g6-standard-4", "g6-dedicated-8", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "NoSchedule",
	"NoExecute", "@daily", "0 1 * * *", "Underutilized", "Empty", "Drifted", "memory.available", "nodefs.available", "team:a", "v1.34.1",
	"karpenter.k8s.linode", "LinodeNodeClass", "default", "karpenter.sh/capacity-type", "on-demand",
}

func (d *draw) one(of []string) string { return of[d.IntN(len(of))] }

// revision is a pool and its class with some random fields.
func (d *draw) revision() compile.Result {
	pool := map[string]any{
		"apiVersion": schemas.Pool.Object.APIVersion, "kind": schemas.Pool.Object.Kind, "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.linode", "kind": "LinodeNodeClass", "name": "default"},
			"requirements": []any{map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"amd64"}}},
		}}},
	}
	class := map[string]any{
		"apiVersion": schemas.NodeClass.Object.APIVersion, "kind": schemas.NodeClass.Object.Kind,
		"metadata": map[string]any{"name": "default"}, "spec": map[string]any{"tags": []any{"a"}},
	}
	for range 4 + d.IntN(8) {
		pool, _ = d.edit(pool)
	}
	for range 4 + d.IntN(12) {
		class, _ = d.edit(class)
	}
	return d.compiled(pool, class)
}

// compiled is what compiling a directory returns for two objects.
func (d *draw) compiled(objects ...map[string]any) compile.Result {
	var result compile.Result
	result.Cluster = config.Cluster{Name: "dev", Region: "us-ord"}
	for _, obj := range objects {
		defaulted, _ := d.validator.Validate(obj, nil)
		addr := config.Addr{Type: schemas.TypeOf(manifest.Kind(obj)), Name: manifest.Name(obj)}
		result.Objects = append(result.Objects, config.Object{Addr: addr, Before: addr, Manifest: obj, Defaulted: defaulted})
	}
	return result
}

// edited is a revision with one to three edits of one of its objects.
func (d *draw) edited(before compile.Result) (compile.Result, []string) {
	var edits []string
	objects := []map[string]any{before.Objects[0].Manifest, before.Objects[1].Manifest}
	i := d.IntN(len(objects))
	if d.IntN(3) == 0 {
		lists := d.IntN(2) == 0
		if same := respelled(objects[i], lists); d.valid(same) {
			objects[i] = same
			return d.compiled(objects...), []string{fmt.Sprintf("spelled otherwise; lists in another order: %v", lists)}
		}
	}
	for range 1 + d.IntN(3) {
		var how string
		if objects[i], how = d.edit(objects[i]); how != "" {
			edits = append(edits, how)
		}
	}
	return d.compiled(objects...), edits
}

// edit changes something at a random place of an object, so that an API server still takes it.
func (d *draw) edit(obj map[string]any) (map[string]any, string) {
	for range 40 {
		changed := runtime.DeepCopyJSON(obj)
		how := ""
		if d.IntN(5) == 0 {
			how = d.editMetadata(changed)
		} else {
			spec := d.schemas[manifest.Kind(obj)].Properties["spec"]
			var value any
			value, how = d.mutated(&spec, manifest.Map(changed, "spec"), "spec")
			changed["spec"] = value
			if ref := manifest.Map(changed, "spec", "template", "spec", "nodeClassRef"); ref != nil {
				// Karpenter looks after no NodeClaims of other providers.
				ref["group"], ref["kind"] = "karpenter.k8s.linode", schemas.NodeClass.Object.Kind
			}
		}
		if how != "" && d.valid(changed) {
			return changed, how
		}
	}
	return obj, ""
}

func (d *draw) valid(obj map[string]any) bool {
	_, errs := d.validator.Validate(obj, nil)
	return len(errs) == 0
}

// respelled is an object with each amount and duration of its spec in another spelling, if
// there is one, or with each list in another order.
func respelled(obj map[string]any, lists bool) map[string]any {
	obj = runtime.DeepCopyJSON(obj)
	var again func(v any) any
	again = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for key := range v {
				v[key] = again(v[key])
			}
		case []any:
			for i := range v {
				v[i] = again(v[i])
			}
			if lists {
				slices.Reverse(v)
			}
		case string:
			if others := spelledAgain(v); len(others) > 0 && !lists {
				return others[0]
			}
		}
		return v
	}
	obj["spec"] = again(obj["spec"])
	return obj
}

// editMetadata changes what can be set of an object's metadata; SSA owns all of it.
func (d *draw) editMetadata(obj map[string]any) string {
	metadata := manifest.Map(obj, "metadata")
	switch d.IntN(8) {
	case 0:
		metadata["finalizers"] = []any{"example.com/" + d.one([]string{"a", "b"})}
		return "metadata.finalizers"
	case 1:
		metadata["ownerReferences"] = []any{map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "name": d.one([]string{"a", "b"}), "uid": "1",
		}}
		return "metadata.ownerReferences"
	case 2:
		manifest.Ensure(obj, "metadata", "annotations")["karpenter.sh/nodepool-hash"] = d.one(words)
		return "metadata.annotations: Karpenter's"
	case 3:
		delete(metadata, d.one([]string{"labels", "annotations", "finalizers", "ownerReferences"}))
		return "metadata: less"
	case 4, 5:
		manifest.Ensure(obj, "metadata", "labels")["example.com/"+d.one([]string{"a", "b"})] = d.one(words[:12])
		return "metadata.labels"
	}
	manifest.Ensure(obj, "metadata", "annotations")["example.com/"+d.one([]string{"a", "b"})] = d.one(words)
	return "metadata.annotations"
}

// mutated is a value with one random change in it or below it, and says where.
func (d *draw) mutated(schema *structuralschema.Structural, value any, path string) (any, string) {
	switch v := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		if len(keys) > 0 && d.IntN(4) > 0 { // go down
			key := d.one(keys)
			if d.IntN(6) == 0 {
				delete(v, key)
				return v, path + "." + key + " removed"
			}
			of := property(schema, key)
			if of == nil {
				return v, ""
			}
			changed, how := d.mutated(of, v[key], path+"."+key)
			v[key] = changed
			return v, how
		}
		key := d.key(schema)
		of := property(schema, key)
		if of == nil {
			return v, ""
		}
		v[key] = d.value(of, 0)
		return v, path + "." + key + " set"
	case []any:
		switch at := d.IntN(5); {
		case len(v) > 1 && at == 0:
			d.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
			return v, path + " in another order"
		case len(v) > 0 && at == 1:
			i := d.IntN(len(v))
			return slices.Delete(v, i, i+1), path + ": an element removed"
		case len(v) > 0 && at < 4 && schema.Items != nil:
			i := d.IntN(len(v))
			changed, how := d.mutated(schema.Items, v[i], fmt.Sprintf("%s[%d]", path, i))
			v[i] = changed
			return v, how
		case schema.Items != nil:
			return append(v, d.value(schema.Items, 0)), path + ": an element added"
		}
		return v, ""
	}
	if s, ok := value.(string); ok && d.IntN(2) == 0 {
		if again := spelledAgain(s); len(again) > 0 {
			return d.one(again), path + " spelled otherwise"
		}
	}
	return d.value(schema, 0), path + " replaced"
}

// spelledAgain are other spellings of an amount or a duration.
func spelledAgain(s string) []string {
	for _, group := range [][]string{
		{"1", "1.0", "1000m"}, {"1.1", "1.10", "1100m"}, {"1000", "1k", "1e3"}, {"0.5", "500m"}, {"1Gi", "1024Mi"}, {"20Gi", "20480Mi"},
		{"10", "10.0", "010"}, {"720h", "43200m", "720h0m0s"}, {"1h0m0s", "1h", "60m"}, {"0s", "0m", "0"},
	} {
		if slices.Contains(group, s) {
			return slices.DeleteFunc(slices.Clone(group), func(other string) bool { return other == s })
		}
	}
	return nil
}

func property(schema *structuralschema.Structural, key string) *structuralschema.Structural {
	if of, ok := schema.Properties[key]; ok {
		return &of
	}
	if schema.AdditionalProperties != nil {
		return schema.AdditionalProperties.Structural
	}
	return nil
}

// leaves is how many fields are at or below a place.
func leaves(schema *structuralschema.Structural) int {
	switch {
	case schema == nil:
		return 1
	case schema.Items != nil:
		return leaves(schema.Items)
	case len(schema.Properties) == 0:
		return 1
	}
	n := 0
	for key := range schema.Properties {
		n += leaves(property(schema, key))
	}
	return n
}

// key is a field that a map can have; each field below it is as likely as any other.
func (d *draw) key(schema *structuralschema.Structural) string {
	if len(schema.Properties) > 0 {
		at := d.IntN(leaves(schema))
		for _, key := range slices.Sorted(maps.Keys(schema.Properties)) {
			if at -= leaves(property(schema, key)); at < 0 {
				return key
			}
		}
	}
	return d.one([]string{"cpu", "memory", "nodes", "example.com/a", "example.com/b", "memory.available", "pods"})
}

// value is a random value of a schema.
func (d *draw) value(schema *structuralschema.Structural, depth int) any {
	if schema.XIntOrString {
		if d.IntN(3) == 0 {
			return int64(d.IntN(4))
		}
		return d.one(words[:16])
	}
	switch schema.Type {
	case "object":
		m := map[string]any{}
		if v := schema.ValueValidation; v != nil {
			for _, key := range v.Required {
				m[key] = d.value(property(schema, key), depth+1)
			}
		}
		for range d.IntN(3) {
			if key := d.key(schema); depth < 4 {
				if of := property(schema, key); of != nil {
					m[key] = d.value(of, depth+1)
				}
			}
		}
		return m
	case "array":
		list := []any{}
		for range d.IntN(4) {
			list = append(list, d.value(schema.Items, depth+1))
		}
		return list
	case "integer":
		return []int64{0, 1, 2, 3, 10, 50, 100}[d.IntN(7)]
	case "boolean":
		return d.IntN(2) == 0
	}
	if v := schema.ValueValidation; v != nil {
		if len(v.Enum) > 0 {
			return v.Enum[d.IntN(len(v.Enum))].Object
		}
		if fit := d.fitting(v); len(fit) > 0 {
			return d.one(fit)
		}
	}
	return d.one(words)
}

// fitting are the words that the pattern and the length of a text allow.
func (d *draw) fitting(v *structuralschema.ValueValidation) []string {
	if v.Pattern == "" {
		return nil
	}
	if fit, known := d.patterns[v.Pattern]; known {
		return fit
	}
	pattern, err := regexp.Compile(v.Pattern)
	if err != nil {
		panic(err)
	}
	d.patterns[v.Pattern] = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !pattern.MatchString(w) })
	return d.patterns[v.Pattern]
}

// claims are NodeClaims as Karpenter makes them from a pool, each with labels that its
// requirements allow.
func (d *draw) claims(pool *karpv1.NodePool, class *linodev1alpha1.LinodeNodeClass) []*karpv1.NodeClaim {
	claims := make([]*karpv1.NodeClaim, 3)
	for i := range claims {
		labels := maps.Clone(pool.Spec.Template.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		asks := scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
		for _, key := range slices.Sorted(maps.Keys(asks)) {
			if values := asks.Get(key).Values(); asks.Get(key).Operator() == "In" && len(values) > 0 {
				labels[key] = d.one(slices.Sorted(slices.Values(values)))
			} else if value := d.one(words[:12]); asks.Get(key).Operator() != "DoesNotExist" && asks.Get(key).Has(value) {
				labels[key] = value
			}
		}
		labels[karpv1.NodePoolLabelKey] = pool.Name
		claims[i] = &karpv1.NodeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint(i)), Labels: labels, CreationTimestamp: metav1.Now(),
				Annotations: map[string]string{
					karpv1.NodePoolHashAnnotationKey: pool.Hash(), karpv1.NodePoolHashVersionAnnotationKey: karpv1.NodePoolHashVersion,
					linodev1alpha1.AnnotationHash: class.Hash(), linodev1alpha1.AnnotationHashVersion: linodev1alpha1.HashVersion,
				},
			},
			Spec: karpv1.NodeClaimSpec{NodeClassRef: pool.Spec.Template.Spec.NodeClassRef.DeepCopy()},
		}
	}
	return claims
}

func objectsText(c compile.Result) string {
	var all []string
	for _, o := range c.Objects {
		raw, err := json.Marshal(o.Manifest)
		if err != nil {
			panic(err)
		}
		all = append(all, string(raw))
	}
	return strings.Join(all, "\n       ")
}
