package schemas

import "strings"

// Written returns the path of a Kubernetes field as the user wrote it in a block of a type:
// disruption.consolidate_after, requirements.class. A field that no argument covers has its
// Kubernetes name, without spec.
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

// written returns the written form of a path below that of a block.
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

// argument returns the name of an argument with the rest of a path in its value.
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

// below returns the part of a path after a field.
func below(field, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, field)
	return rest, ok && field != "" && (rest == "" || strings.ContainsAny(rest[:1], ".["))
}
