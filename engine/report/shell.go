package report

import "strings"

// ShellLine is a line for a shell.
func ShellLine(words ...string) string {
	line := make([]string, len(words))
	for i, word := range words {
		line[i] = quoted(word)
	}
	return strings.Join(line, " ")
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/@%+=,-", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
