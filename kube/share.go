package kube

import "crypto/sha256"

// Share replaces parts of an object with equal parts of other: most of an object is equal to
// the object with its defaults. Neither of them may be modified afterwards.
func Share(object, other map[string]any) { shareParts(object, other) }

// shareParts returns what to keep of v, and whether all of it is from other.
func shareParts(v, other any) (kept any, same bool) {
	switch v := v.(type) {
	case map[string]any:
		fields, ok := other.(map[string]any)
		same = ok && len(v) == len(fields)
		for key, value := range v {
			inner, has := fields[key]
			kept, equal := shareParts(value, inner)
			v[key], same = kept, same && has && equal
		}
	case []any:
		list, ok := other.([]any)
		same = ok && len(v) == len(list)
		for i, value := range v {
			var inner any
			if i < len(list) {
				inner = list[i]
			}
			kept, equal := shareParts(value, inner)
			v[i], same = kept, same && equal
		}
	default:
		same = v == other
	}
	if same {
		return other, true
	}
	return v, false
}

// Altered returns the shared values of the objects that this validator has returned which
// were modified. It is for tests.
func (v *Validator) Altered() (altered []any) {
	for _, versions := range v.kinds {
		for _, d := range versions() {
			for key, known := range d.memory.passed {
				r := reading{}
				r.value(nil, known.value)
				if sha256.Sum256(r.text) != key.value {
					altered = append(altered, known.value)
				}
			}
		}
	}
	return altered
}
