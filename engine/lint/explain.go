package lint

import (
	"fmt"
	"strings"
)

// Severity is what a finding is without a current catalogue: error or warning.
func (r Rule) Severity() string {
	if r.Fatal {
		return "error"
	}
	return "warning"
}

// Explanation is all that is known of the rule, for a terminal of 80 columns.
func (r Rule) Explanation() string {
	var b strings.Builder
	level := r.Severity()
	if r.Catalog {
		level += "; an error with --catalog"
	}
	fmt.Fprintf(&b, "%s (%s)\n", r.Name, level)
	for _, text := range []string{r.What, r.Why, r.Do} {
		fmt.Fprintf(&b, "\n%s\n", fold(text))
	}
	if r.Example != "" {
		b.WriteString("\n")
		for line := range strings.Lines(r.Example) {
			if strings.TrimSpace(line) != "" {
				b.WriteString("  ")
			}
			b.WriteString(line)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// fold breaks text into lines of at most 80 columns.
func fold(text string) string {
	const width = 80
	var lines []string
	var line string
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return strings.Join(append(lines, line), "\n")
}
