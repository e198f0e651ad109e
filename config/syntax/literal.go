package syntax

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// maxWidth is how long a list or an object may be to stay on one line.
const maxWidth = 76

// Quote writes text as HCL, with nothing in it taken for a template.
func Quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}

// List writes elements that are HCL already, one on a line where they are long.
func List(elements []string) string {
	return enclose("[", elements, ",", "]", "")
}

// Call writes the call of a function.
func Call(name string, arguments []string) string {
	return enclose(name+"(", arguments, ",", ")", "")
}

// A Pair is one attribute of an object; the value is HCL already.
type Pair struct{ Key, Value string }

// Object writes an object in the order of its pairs.
func Object(pairs []Pair) string {
	if len(pairs) == 0 {
		return "{}"
	}
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = key(p.Key) + " = " + p.Value
	}
	return enclose("{", parts, "", "}", " ")
}

// enclose puts parts between brackets. On one line they are told apart by
// commas, on several each ends with end.
func enclose(open string, parts []string, end, closing, space string) string {
	line := open + space + strings.Join(parts, ", ") + space + closing
	if len(line) <= maxWidth && !strings.Contains(line, "\n") {
		return line
	}
	return open + "\n" + strings.Join(parts, end+"\n") + end + "\n" + closing
}

// bare is narrower than what HCL takes for a name, as it takes marks for names
// that its scanner drops.
var bare = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// key writes the name of an attribute, bare where it can only be a name.
func key(name string) string {
	if bare.MatchString(name) && !slices.Contains([]string{"for", "null", "true", "false"}, name) {
		return name
	}
	return Quote(name)
}
