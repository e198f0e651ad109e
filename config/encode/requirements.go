package encode

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/config/requirement"
	"github.com/lkeplan/lkeplan/config/syntax"
	"github.com/lkeplan/lkeplan/schemas"
)

// writeRequirements writes the requirements of a pool, or of a selector of pools. It omits the default
// capacity type of pools, and writes null if the pool does not require it.
func writeRequirements(v any, ofPool bool) (string, bool) {
	entries, ok := v.([]any)
	all, err := requirement.Decode(entries)
	if !ok || err != nil {
		return "", false
	}
	var pairs []syntax.Pair
	for _, key := range sortedByName(all) {
		text, ok := writeCondition(key, all[key.Label])
		if !ok {
			return "", false
		}
		pairs = append(pairs, syntax.Pair{Key: key.Name, Value: text})
	}
	if !ofPool {
		return syntax.Object(pairs), true
	}
	at := slices.IndexFunc(pairs, func(p syntax.Pair) bool { return p.Key == "capacity_type" })
	switch {
	case at < 0:
		pairs = append([]syntax.Pair{{Key: "capacity_type", Value: "null"}}, pairs...)
	case pairs[at].Value == syntax.Quote("on-demand"):
		pairs = slices.Delete(pairs, at, at+1)
	}
	if len(pairs) == 0 {
		return "", true
	}
	return syntax.Object(pairs), true
}

// writeCondition writes the condition on one label, if it compiles to the same requirements.
func writeCondition(key schemas.Key, r requirement.Requirement) (string, bool) {
	if key.Name == key.Label && !strings.Contains(key.Label, "/") {
		return "", false // it would be a short name
	}
	// The order has no meaning, and between(...) depends on it.
	slices.SortStableFunc(r.Terms, func(a, b requirement.Term) int {
		return strings.Compare(string(a.Operator), string(b.Operator))
	})
	_, err := r.Encode(key)
	least := func(t requirement.Term) bool { return t.MinValues < 0 || t.MinValues > 50 }
	if err != nil || slices.ContainsFunc(r.Terms, least) {
		return "", false
	}
	if key.Unit == schemas.MiB {
		for _, t := range r.Terms {
			for i, value := range t.Values {
				t.Values[i] = gibibytes(value)
			}
		}
	}
	return r.String(), true
}

// gibibytes writes a number of MiB as people write it.
func gibibytes(mib string) string {
	if n, err := strconv.ParseInt(mib, 10, 64); err == nil && n > 0 && n%1024 == 0 && strconv.FormatInt(n, 10) == mib {
		return strconv.FormatInt(n/1024, 10) + "Gi"
	}
	return mib
}

// sortedByName lists the labels with requirements, those with a short name first.
func sortedByName(all map[string]requirement.Requirement) (keys []schemas.Key) {
	rest := map[string]any{}
	for label := range all {
		rest[label] = nil
	}
	for _, key := range schemas.Keys() {
		if _, there := all[key.Label]; there {
			keys = append(keys, key)
			delete(rest, key.Label)
		}
	}
	for _, label := range sortedKeys(rest) {
		keys = append(keys, schemas.Key{Name: label, Label: label})
	}
	return keys
}
