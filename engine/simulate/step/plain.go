package step

import "strings"

// breaks are what ends a line, and what a runner of GitHub obeys anywhere in one.
var breaks = strings.NewReplacer("\n", `\u000a`, "\r", `\u000d`, "\u2028", `\u2028`, "##[", `\u0023#[`)

// Plain is a text of others that stays on its line, and that a runner takes for no command:
// not even where it is all that there is on the line.
func Plain(text string) string {
	text = breaks.Replace(text)
	if rest := strings.TrimLeft(text, " \t"); strings.HasPrefix(rest, "::") {
		return `\u003a` + rest[1:]
	}
	return text
}
