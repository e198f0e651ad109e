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
		if text, ok := writtenPath(block, path); ok {
			return text
		}
	}
	path = strings.TrimPrefix(path, "spec.template.spec.")
	path = strings.TrimPrefix(path, "spec.template.metadata.")
	return strings.TrimPrefix(path, "spec.")
}

// writtenPath returns the written form of a path below that of a block.
func writtenPath(block Block, path string) (string, bool) {
	for _, arg := range block.Args {
		if rest, ok := pathBelow(arg.Path, path); ok {
			return argumentPath(arg, rest), true
		}
	}
	for _, inner := range block.Blocks {
		rest, ok := pathBelow(inner.Path, path)
		if !ok {
			continue
		}
		if text, ok := writtenPath(inner, strings.TrimPrefix(rest, ".")); ok && rest != "" {
			return inner.Type + "." + text, true
		}
		return inner.Type + rest, true
	}
	return "", false
}

// argumentPath returns the name of an argument with the rest of a path in its value.
func argumentPath(arg Arg, rest string) string {
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

// pathBelow returns the part of a path after a field.
func pathBelow(field, path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, field)
	return rest, ok && field != "" && (rest == "" || strings.ContainsAny(rest[:1], ".["))
}
