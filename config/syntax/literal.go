package syntax

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// maxWidth is the maximum width of a list or an object on one line.
const maxWidth = 76

// Quote writes text as an HCL string without templates.
func Quote(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}

// List writes a list of HCL expressions, with one element per line if it is long.
func List(elements []string) string {
	return enclose("[", elements, ",", "]", "")
}

// Call writes a function call.
func Call(name string, arguments []string) string {
	return enclose(name+"(", arguments, ",", ")", "")
}

// A Pair is one attribute of an object; the value is an HCL expression.
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

// enclose writes parts in brackets. On one line they are separated by commas; on several lines,
// each ends with end.
func enclose(open string, parts []string, end, closing, space string) string {
	line := open + space + strings.Join(parts, ", ") + space + closing
	if len(line) <= maxWidth && !strings.Contains(line, "\n") {
		return line
	}
	return open + "\n" + strings.Join(parts, end+"\n") + end + "\n" + closing
}

// bare matches fewer names than HCL, which accepts marks that its scanner drops.
var bare = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// key writes the name of an attribute, without quotes if it is unambiguous.
func key(name string) string {
	if bare.MatchString(name) && !slices.Contains([]string{"for", "null", "true", "false"}, name) {
		return name
	}
	return Quote(name)
}
