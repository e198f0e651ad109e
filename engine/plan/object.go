package plan

import (
	"fmt"
	"slices"

	autoscalingv1beta1 "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/linode/inplace"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// An object has the Go type of its defaulted form: one of the pointers is set, or none for other kinds and for a pool
// of which only the nodes are known.
type object struct {
	config.Object
	pool    *karpv1.NodePool
	class   *linodev1alpha1.LinodeNodeClass
	limit   *lkeplanv1alpha1.CapacityLimit
	overlay *v1alpha1.NodeOverlay
	buffer  autoscalingv1beta1.CapacityBufferSpec // empty for other kinds
}

func decodeObject(o config.Object) (object, error) {
	t := object{Object: o}
	if o.Defaulted == nil || o.Kind() == "NodePool" && manifest.Map(o.Defaulted, "spec") == nil {
		return t, nil
	}
	decoded, err := cluster.Decode(o.Defaulted)
	switch typed := decoded.(type) {
	case *karpv1.NodePool:
		t.pool = typed
	case *linodev1alpha1.LinodeNodeClass:
		t.class = typed
	case *lkeplanv1alpha1.CapacityLimit:
		t.limit = typed
	case *v1alpha1.NodeOverlay:
		t.overlay = typed
	case *autoscalingv1beta1.CapacityBuffer:
		t.buffer = typed.Spec
	}
	return t, err
}

// hash returns the digest by which Karpenter and the provider detect drifted nodes; "" for objects that no nodes are
// made from.
func (o object) hash() string {
	switch {
	case o.pool != nil:
		return o.pool.Hash()
	case o.class != nil:
		return o.class.Hash()
	}
	return ""
}

// templateDiffers reports whether the change of an object replaces the nodes that were made from it because of its
// hash.
func templateDiffers(before, after object) bool {
	if before.pool != nil && after.pool != nil {
		return inplace.Differs(before.pool, after.pool)
	}
	return before.hash() != after.hash()
}

// requirements returns the requirements of a pool without their minValues, which concern no label of a node; none if
// the pool is unknown.
func (o object) requirements() scheduling.Requirements {
	if o.pool == nil {
		return scheduling.NewRequirements()
	}
	return labelRequirements(o.pool.Spec.Template.Spec.Requirements)
}

func labelRequirements(written []karpv1.NodeSelectorRequirementWithMinValues) scheduling.Requirements {
	all := slices.Clone(written)
	for i := range all {
		all[i].MinValues = nil
	}
	return scheduling.NewNodeSelectorRequirementsWithMinValues(all...)
}

// classRef returns the name of the node class of a pool; "" if unknown.
func (o object) classRef() string {
	if o.pool == nil || o.pool.Spec.Template.Spec.NodeClassRef == nil {
		return ""
	}
	return o.pool.Spec.Template.Spec.NodeClassRef.Name
}

// TemplateHash returns the hash of an object by which Karpenter and the provider detect drifted nodes; "" for kinds
// that no nodes are made from.
func TemplateHash(obj map[string]any) (string, error) {
	o, err := decodeObject(config.Object{Manifest: obj, Defaulted: obj})
	return o.hash(), err
}

// A side is one of the two compared states, with decoded objects.
type side struct {
	State
	decoded
}

// decoded are the objects of a state.
type decoded struct {
	objects, others []object
	byKey           map[manifest.Key]object // of objects
}

// Decode returns a state with its objects decoded, for several calls with it. The objects must not change any more.
func (s State) Decode() (State, error) {
	of, err := sideOf(s)
	s.decoded = &of.decoded
	return s, err
}

// class returns a node class of the side, or else of the cluster; nil if it is unknown.
func (s side) class(key manifest.Key) *linodev1alpha1.LinodeNodeClass {
	if o, declared := s.byKey[key]; declared {
		return o.class
	}
	for _, o := range s.others {
		if o.class != nil && o.Key() == key {
			return o.class
		}
	}
	return nil
}

func sideOf(s State) (of side, err error) {
	if s.decoded != nil {
		return side{s, *s.decoded}, nil
	}
	of = side{State: s, decoded: decoded{byKey: make(map[manifest.Key]object, len(s.Objects))}}
	for _, o := range s.Objects {
		t, err := decodeObject(o)
		if err != nil {
			return of, fmt.Errorf("%s: %w", o.Addr, err)
		}
		of.objects, of.byKey[o.Key()] = append(of.objects, t), t
	}
	for _, pool := range s.Pools {
		addr := config.Addr{Type: schemas.Pool.Type, Name: pool.Name}
		of.objects = append(of.objects, object{Object: config.Object{Addr: addr}, pool: pool})
	}
	for _, class := range s.Classes {
		of.objects = append(of.objects, object{class: class})
	}
	for _, o := range s.Others {
		t, err := decodeObject(o)
		if err != nil {
			return of, err
		}
		of.others = append(of.others, t)
	}
	return of, nil
}
