package schemas

import "strings"

// Written is the path of a Kubernetes field as a block of a type has it: disruption.consolidate_after,
// requirements.class. A field that no argument covers is named as Kubernetes names it, without the spec in front.
func Written(blockType, path string) string {
	for _, block := range Document() {
		if block.Type != blockType || block.Object == nil {
			continue
		}
		if text, ok := written(block, path); ok {
			return text
		}
	}
	path = strings.TrimPrefix(path, "spec.template.spec.")
	path = strings.TrimPrefix(path, "spec.template.metadata.")
	return strings.TrimPrefix(path, "spec.")
}

// written is a path below that of a block.
func written(block Block, path string) (string, bool) {
	for _, arg := range block.Args {
		if rest, ok := below(arg.Path, path); ok {
			return argument(arg, rest), true
		}
	}
	for _, inner := range block.Blocks {
		rest, ok := below(inner.Path, path)
		if !ok {
			continue
		}
		if text, ok := written(inner, strings.TrimPrefix(rest, ".")); ok && rest != "" {
			return inner.Type + "." + text, true
		}
		return inner.Type + rest, true
	}
	return "", false
}

// argument is an argument, and what of its value is meant.
func argument(arg Arg, rest string) string {
	switch {
	case arg.Kind == NodeClassRef && rest == ".name":
		return arg.Name
	case arg.Kind == Requirements:
		for _, key := range Keys() {
			if rest == "["+key.Label+"]" {
				return arg.Name + "." + key.Name
			}
		}
	}
	return arg.Name + rest
}

// below is what of a path comes after a field.
func below(field, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, field)
	return rest, ok && field != "" && (rest == "" || strings.ContainsAny(rest[:1], ".["))
}
