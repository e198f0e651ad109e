package kube

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"sync"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	openapi "k8s.io/kube-openapi/pkg/validation/validate"
)

// A part is one place of a kind's schema, with the checks that the API server makes at this
// place. The parts of a kind together make all checks.
type part struct {
	openAPI *openapi.SchemaValidator
	cel     *schemacel.Validator         // nil if there are no rules
	list    *structuralschema.Structural // of a list whose elements must differ; otherwise nil

	fields map[string]*part
	values *part // of a map, under any key
	items  *part // of a list
}

// partOf returns the part at a place of a schema, which is given in the three forms that are
// checked. It is nil if the schema has a keyword that parts do not support.
func partOf(schema *spec.Schema, structure *structuralschema.Structural, cel *schemacel.Validator) *part {
	own := *schema
	own.Properties, own.Items, own.AdditionalProperties = nil, nil, nil
	values, items := schema.AdditionalProperties, schema.Items
	unknown := len(schema.PatternProperties) > 0 || len(schema.Dependencies) > 0 || schema.AdditionalItems != nil ||
		structure.XEmbeddedResource || len(schema.Properties) > 0 && values != nil ||
		values != nil && values.Schema == nil && !values.Allows || items != nil && items.Schema == nil
	if unknown {
		return nil
	}
	p := &part{openAPI: openapi.NewSchemaValidator(&own, nil, "", strfmt.Default)}
	if cel != nil {
		here := *cel
		here.Properties, here.AdditionalProperties, here.Items = nil, nil, nil
		p.cel = &here
	} else {
		cel = &schemacel.Validator{}
	}
	if kind := structure.XListType; kind != nil && *kind != "atomic" {
		flat := *structure
		flat.Items = nil
		p.list = &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"": flat}}
	}
	return p.withFields(schema, structure, cel)
}

// withFields adds the parts of the fields and of the values of a map. It returns nil if one of them is not supported.
func (p *part) withFields(schema *spec.Schema, structure *structuralschema.Structural, cel *schemacel.Validator) *part {
	p.fields = map[string]*part{}
	for name, field := range schema.Properties {
		its, ok := structure.Properties[name]
		var rules *schemacel.Validator
		if r, ok := cel.Properties[name]; ok {
			rules = &r
		}
		if !ok {
			return nil
		}
		p.fields[name] = partOf(&field, &its, rules)
		if p.fields[name] == nil {
			return nil
		}
	}
	if values := schema.AdditionalProperties; values != nil && values.Schema != nil {
		if structure.AdditionalProperties == nil || structure.AdditionalProperties.Structural == nil {
			return nil
		}
		p.values = partOf(values.Schema, structure.AdditionalProperties.Structural, cel.AdditionalProperties)
		if p.values == nil {
			return nil
		}
	}
	if schema.Items != nil {
		if structure.Items == nil {
			return nil
		}
		p.items = partOf(schema.Items.Schema, structure.Items, cel.Items)
		if p.items == nil {
			return nil
		}
	}
	return p
}

// check makes the checks of the part, and returns the cost of the rules in CEL.
func (p *part) check(value any) (cost int64, ok bool) {
	if !p.openAPI.Validate(value).IsValid() {
		return 0, false
	}
	if list, isList := value.([]any); p.list != nil && isList {
		if len(listtype.ValidateListSetsAndMaps(nil, p.list, map[string]any{"": list})) > 0 {
			return 0, false
		}
	}
	if p.cel == nil {
		return 0, true
	}
	const budget = celconfig.RuntimeCELCostBudget
	errs, left := p.cel.Validate(context.Background(), nil, nil, value, nil, budget)
	return budget - left, len(errs) == 0
}

// A memory stores which values have passed the checks of a part, so that each check is made
// once: the pools of a directory differ in a few fields, and head differs from base in a few
// pools. Equal values share one copy.
type memory struct {
	mu     sync.Mutex
	passed map[passed]seen
}

// seen is the first value with a digest.
type seen struct {
	value any
	cost  int64 // of the rules in CEL
}

// passed is a value that has passed the checks of a part, by its digest.
type passed struct {
	part  *part
	value [sha256.Size]byte
}

// maxPassed bounds a memory, about 150 bytes each.
const maxPassed = 100_000

// passes reports whether a value passes the checks of a part and of its inner parts. It is
// false if it does not, or if that is not known. Inner values are replaced by equal values
// that have passed before, which must not be modified.
func (m *memory) passes(p *part, value any) bool {
	r := reading{memory: m}
	_, ok := r.value(p, value)
	return ok && r.cost < celconfig.RuntimeCELCostBudget
}

// A reading is the traversal of one object.
type reading struct {
	*memory
	text []byte // an encoding of what has been read, different for different values
	cost int64  // of the rules in CEL so far
}

// value reads a value, and returns the value to keep in its place. Without a part there are no
// checks.
func (r *reading) value(p *part, value any) (kept any, ok bool) {
	begin := len(r.text)
	ok = true
	switch v := value.(type) {
	case map[string]any:
		ok = r.object(p, v)
	case []any:
		ok = r.list(p, v)
	case string:
		r.string('s', v)
	case int64:
		r.text = binary.AppendVarint(append(r.text, 'i'), v)
	case float64:
		r.text = binary.BigEndian.AppendUint64(append(r.text, 'f'), math.Float64bits(v))
	case bool:
		r.text = append(r.text, 'b')
		if v {
			r.text = append(r.text, '!')
		} else {
			r.text = append(r.text, '?')
		}
	case nil:
		r.text = append(r.text, 'n')
	default:
		return value, false
	}
	if !ok || p == nil {
		return value, ok
	}
	return r.check(p, value, r.text[begin:])
}

func (r *reading) object(p *part, fields map[string]any) bool {
	if fields == nil {
		r.text = append(r.text, '0')
	}
	r.text = binary.AppendUvarint(append(r.text, 'o'), uint64(len(fields)))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		r.string('k', name)
		var inside *part
		if p != nil {
			inside = p.fields[name]
			if inside == nil {
				inside = p.values
			}
		}
		kept, ok := r.value(inside, fields[name])
		if !ok {
			return false
		}
		fields[name] = kept
	}
	return true
}

func (r *reading) list(p *part, elements []any) bool {
	if elements == nil {
		r.text = append(r.text, '0')
	}
	r.text = binary.AppendUvarint(append(r.text, 'l'), uint64(len(elements)))
	var inside *part
	if p != nil {
		inside = p.items
	}
	for i, element := range elements {
		kept, ok := r.value(inside, element)
		if !ok {
			return false
		}
		elements[i] = kept
	}
	return true
}

func (r *reading) string(kind byte, s string) {
	r.text = append(binary.AppendUvarint(append(r.text, kind), uint64(len(s))), s...)
}

// check makes the checks of a part, unless an equal value has passed them.
func (r *reading) check(p *part, value any, text []byte) (kept any, ok bool) {
	key := passed{p, sha256.Sum256(text)}
	known, ok := r.recall(key)
	if !ok {
		known.cost, ok = p.check(value)
		if !ok {
			return value, false
		}
		known.value = value
		r.note(key, known)
	}
	r.cost += known.cost
	return known.value, true
}

func (m *memory) recall(key passed) (known seen, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok = m.passed[key]
	return known, ok
}

func (m *memory) note(key passed, value seen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.passed == nil || len(m.passed) >= maxPassed {
		m.passed = map[passed]seen{}
	}
	m.passed[key] = value
}
